//! How many events a second are decoded and accounted for: `ledger_rate TRACE.DAT TID|SPIKE.JSON [REPEATS]`.
//!
//! With a thread id, the wake-up of that thread that took longest is explained; its due instant is that of the timer it
//! started, and it counts as seen at its first event after it was given the CPU. The window is stretched over the whole
//! trace by a long interval, so that every event is replayed.

use archive::explanation::Explanation;
use archive::sample::Sample;
use archive::spike::{Spike, SpikeReason};
use explain::{SpikeInput, explain_spike};
use ftrace::trace_dat::{TraceFile, TraceItem};
use std::time::Instant;

/// Twice this is the longest stretch that is replayed before a wake-up.
const INTERVAL_NS: u64 = 500_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("the path of a trace.dat is missing")?;
    let which = arguments.next().ok_or("a thread id or the path of a spike.json is missing")?;
    let repeats: u32 = arguments.next().map_or(Ok(20), |text| text.parse())?;
    let trace = std::fs::read(&path)?;
    let spike: Spike = match which.parse::<i32>() {
        Ok(tid) => longest_wakeup(&trace, tid).ok_or("this thread has no wake-up in the trace")?,
        Err(_) => serde_json::from_slice(&std::fs::read(&which)?)?,
    };
    let input = SpikeInput {
        spike: &spike,
        trace: (&trace).into(),
        median_ns: 20_000,
        interval_ns: INTERVAL_NS,
        measuring_tids: &[(spike.sample.cpu, spike.tid)],
        tool_tids: &[],
        environment: None,
        absences: &[],
        in_turns: false,
        controls: &[],
    };
    let seen_ns = spike.sample.seen_ns();
    let from_ns = (spike.sample.due_ns - 2 * INTERVAL_NS as i64).max(0);
    let items = TraceFile::parse(&trace).window(from_ns as u64, seen_ns as u64).count();
    let begin = Instant::now();
    let mut explanation = explain_spike(&input);
    for _ in 1..repeats {
        explanation = std::hint::black_box(explain_spike(&input));
    }
    let seconds = begin.elapsed().as_secs_f64() / f64::from(repeats);
    let begin = Instant::now();
    for _ in 0..repeats {
        std::hint::black_box(TraceFile::parse_window(&trace, 0, 0));
    }
    let opening = begin.elapsed().as_secs_f64() / f64::from(repeats);
    let rate = |seconds: f64| items as f64 / seconds / 1e6;
    println!(
        "{items} events in {:.3} ms, of which opening the file took {:.3} ms: {:.1} million events/s, {:.1} without opening",
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
    Some(Spike {
        number: 1,
        thread: 0,
        tid,
        sample: longest?,
        reason: SpikeReason::NewMaximum,
        previous_seen_ns: None,
        snapshot: None,
        snapshot_missing: None,
        watched: None,
    })
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
