//! Events decoded and accounted for per second of CPU time: `ledger_rate TRACE.DAT TID|SPIKE.JSON|all [REPEATS]`.
//!
//! With `all`, a synthetic wake-up is explained that takes as long as the whole trace, so that no event is only
//! replayed. With a thread id, the longest wake-up of that thread is explained; its due instant is that of the timer it
//! started, and it counts as seen at its first event after it got the CPU. The window is stretched over the whole trace
//! by a long interval, so that every event is replayed.

use archive::explanation::Explanation;
use archive::sample::Sample;
use archive::spike::{Spike, SpikeReason};
use explain::{SpikeInput, explain_spike};
use ftrace::trace_dat::{TraceFile, TraceItem};
use std::collections::BTreeMap;

/// Half of the longest stretch that is replayed before a wake-up.
const INTERVAL_NS: u64 = 500_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("the path of a trace.dat is missing")?;
    let which = arguments.next().ok_or("a thread id or the path of a spike.json is missing")?;
    let repeats: u32 = arguments.next().map_or(Ok(20), |text| text.parse())?;
    let trace = std::fs::read(&path)?;
    let spike: Spike = match which.parse::<i32>() {
        Err(_) if which == "all" => longest_possible(&trace).ok_or("the trace has no events")?,
        Ok(tid) => longest_wakeup(&trace, tid).ok_or("this thread has no wake-up in the trace")?,
        Err(_) => serde_json::from_slice(&std::fs::read(&which)?)?,
    };
    let input = SpikeInput {
        spike: &spike,
        trace: (&trace).into(),
        median_ns: 20_000,
        interval_ns: INTERVAL_NS,
        measuring_tids: &[(spike.sample.cpu, spike.tid)],
        own_prio: None,
        tool_tids: &[],
        environment: None,
        absences: &[],
        in_turns: false,
        stimulus: archive::method::Stimulus::Timer,
        sample: archive::method::SampleWord::default(),
        recorder: explain::recorder::Recorder::Own,
        stacks: None,
        controls: &[],
    };
    let seen_ns = spike.sample.seen_ns();
    let from_ns = (spike.sample.due_ns - 2 * INTERVAL_NS as i64).max(0);
    let items = TraceFile::parse(&trace).window(from_ns as u64, seen_ns as u64).count();
    let begin = cpu_seconds()?;
    let mut explanation = explain_spike(&input);
    for _ in 1..repeats {
        explanation = std::hint::black_box(explain_spike(&input));
    }
    let seconds = (cpu_seconds()? - begin) / f64::from(repeats);
    let begin = cpu_seconds()?;
    for _ in 0..repeats {
        std::hint::black_box(TraceFile::parse_window(&trace, 0, 0));
    }
    let opening = (cpu_seconds()? - begin) / f64::from(repeats);
    let rate = |seconds: f64| items as f64 / seconds / 1e6;
    println!(
        "{items} events in {:.3} ms of CPU time, of which opening the file took {:.3} ms: {:.1} million events/s, {:.1} without opening",
        seconds * 1e3,
        opening * 1e3,
        rate(seconds),
        rate(seconds - opening)
    );
    print(&explanation);
    if std::env::var_os("EVENTS").is_some() {
        explain::evidence_window(&input).iter().for_each(|line| println!("{line}"));
    }
    Ok(())
}

/// CPU time of this thread; the wall clock would show how busy the machine is.
fn cpu_seconds() -> Result<f64, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split_whitespace().next().ok_or("schedstat is empty")?.parse::<f64>()? / 1e9)
}

/// From the first event of the trace to the last, of the thread with the most events.
fn longest_possible(trace: &[u8]) -> Option<Spike> {
    let mut events: BTreeMap<(i32, u32), usize> = BTreeMap::new();
    let (mut first_ns, mut last_ns) = (u64::MAX, 0);
    for item in TraceFile::parse(trace).merged() {
        let TraceItem::Record(record) = item else { continue };
        (first_ns, last_ns) = (first_ns.min(record.ts_ns), last_ns.max(record.ts_ns));
        *events.entry((record.common_pid, record.cpu)).or_default() += 1;
    }
    let (&(tid, cpu), _) = events.iter().filter(|((tid, _), _)| *tid != 0).max_by_key(|(_, count)| **count)?;
    let latency_ns = (last_ns - first_ns) as i64;
    Some(spike(tid, Sample { cpu, cycle: 0, due_ns: first_ns as i64, latency_ns }))
}

fn longest_wakeup(trace: &[u8], tid: i32) -> Option<Spike> {
    let file = TraceFile::parse(trace);
    let formats = &file.metadata.formats;
    let start = formats.find("timer", "hrtimer_start")?;
    let expires = start.field("expires")?;
    let switch = formats.find("sched", "sched_switch")?;
    let next = switch.field("next_pid")?;
    let (mut due_ns, mut given, mut longest) = (None, false, None);
    for item in file.merged() {
        let TraceItem::Record(record) = item else { continue };
        if given
            && record.common_pid == tid
            && let Some(due) = due_ns.take()
        {
            let sample = Sample { cpu: record.cpu, cycle: 0, due_ns: due, latency_ns: record.ts_ns as i64 - due };
            if longest.is_none_or(|known: Sample| known.latency_ns < sample.latency_ns) {
                longest = Some(sample);
            }
        }
        if record.id == start.id && record.common_pid == tid {
            (due_ns, given) = (expires.int(record.payload), false);
        } else if record.id == switch.id {
            given = next.int(record.payload) == Some(i64::from(tid)) || (given && record.common_pid != tid);
        }
    }
    longest.map(|sample| spike(tid, sample))
}

fn spike(tid: i32, sample: Sample) -> Spike {
    Spike::new(1, 0, tid, sample, SpikeReason::NewMaximum)
}

fn print(explanation: &Explanation) {
    println!("latency {} ns, {:?}", explanation.latency_ns, explanation.status);
    for phase in &explanation.phases {
        println!("{:>12} ns  {}", phase.ns, phase.name.title());
        for owner in &phase.owners {
            println!("{:>16} ns  {:?} {}", owner.ns, owner.kind, owner.name);
        }
    }
    for finding in &explanation.findings {
        println!("{} ({}): {}", finding.culprit, explain::confidence_word(finding.confidence), finding.sentence);
        finding.evidence.iter().for_each(|line| println!("      {line}"));
        println!("      confirm: {}\n      fix: {}", finding.confirm, finding.fix);
    }
    explanation.caveats.iter().for_each(|caveat| println!("caveat: {caveat}"));
}
