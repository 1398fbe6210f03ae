//! `tardy export`: its output has the contents of the archive, read back without the code that wrote it.

use archive::message::FileKind;
use archive::spike::Spike;
use fixtures::fake_meter::*;
use fixtures::perfetto_reader::{self, KernelEvent, Trace, fields, text, value};
use fixtures::repository::repository_path;
use ftrace::trace_dat::{TraceFile, TraceItem};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

fn corpus(case: &str) -> PathBuf {
    repository_path("corpus/explain").join(case)
}

fn spike_of(case: &str) -> Spike {
    let text = fs::read_to_string(corpus(case).join("spike.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    serde_json::from_value(document["spike"].clone()).unwrap()
}

/// A case of the corpus as a spike with this number and its trace.
fn recorded(bench: Bench, case: &str, number: u32) -> Bench {
    let mut spike = spike_of(case);
    spike.number = number;
    let snapshot = match spike_message(number) {
        archive::message::Message::Spike(like) => like.snapshot,
        _ => None,
    };
    spike.snapshot = spike.snapshot.or(snapshot);
    let trace = fs::read(corpus(case).join("trace.dat")).unwrap();
    bench
        .sends(number + 10, FileKind::SpikeTrace { spike: number }, &trace)
        .says(&[archive::message::Message::Spike(Box::new(spike))])
}

fn spike_message(number: u32) -> archive::message::Message {
    spike(number, 1, archive::spike::SpikeReason::NewMaximum)
}

/// The archive `here` with these cases as spikes 11, 12, ...; the trace of spike 1 is invalid.
pub fn archived(cases: &[&str]) -> Bench {
    let spikes = cases.iter().zip(11..);
    let bench = ending_well(spikes.fold(measuring(), |bench, (case, number)| recorded(bench, case, number)));
    assert_eq!(bench.run(&["run", "--out", "here"]).code, Some(0));
    bench
}

fn perfetto(bench: &Bench, words: &[&str]) -> Trace {
    let ended = bench.run(&[&["export", "here", "--format", "perfetto", "-o", "trace"], words].concat());
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "trace\n"), "{}", ended.stderr);
    perfetto_reader::read(&fs::read(bench.path("trace")).unwrap())
}

/// Number of occurrences of each event in a trace, except `ftrace:print`.
fn counted(case: &str) -> (BTreeMap<String, usize>, usize) {
    let bytes = fs::read(corpus(case).join("trace.dat")).unwrap();
    let file = TraceFile::parse(&bytes);
    let mut counts = BTreeMap::new();
    let mut markers = 0;
    for item in file.merged() {
        let TraceItem::Record(record) = item else { continue };
        let format = file.metadata.formats.by_id(record.id).unwrap();
        match (format.system.as_str(), format.name.as_str()) {
            ("ftrace", "print") => markers += 1,
            (_, name) => *counts.entry(name.to_owned()).or_default() += 1,
        }
    }
    (counts, markers)
}

/// Field numbers of some events in Perfetto's schema.
const MESSAGES: [(u64, &str); 8] = [
    (4, "sched_switch"),
    (13, "cpu_idle"),
    (17, "sched_wakeup"),
    (20, "sched_waking"),
    (551, "hrtimer_start"),
    (24, "softirq_entry"),
    (553, "hrtimer_expire_entry"),
    (559, "local_timer_entry"),
];
/// Events that begin a slice, and events that end one.
const OPENS: [u64; 6] = [24, 36, 58, 553, 557, 559];
const CLOSES: [u64; 6] = [25, 37, 57, 554, 558, 560];
/// Threads with higher numbers represent unrecorded activity.
const NOBODY: u64 = 1 << 22;

/// Whether the kernel recorded an event, or the export marked the start of unrecorded time.
fn is_recorded(event: &KernelEvent) -> bool {
    let content = fields(&event.content);
    if is_inferred_mark(event) {
        return false;
    }
    event.message != 4
        || [2, 6].iter().all(|&field| value(&content, field).is_none_or(|tid| tid as i32 as u64 <= NOBODY))
}

fn is_inferred_mark(event: &KernelEvent) -> bool {
    event.generic.as_deref() == Some("tardy_inferred_switch")
}

#[test]
fn every_inferred_switch_is_marked() {
    for case in ["slow-return--real", "softirq", "not-explained--missing-switch"] {
        let events = perfetto(&archived(&[case]), &[]).events;
        let marks = events.iter().filter(|event| is_inferred_mark(event)).count();
        let inferred = events.iter().filter(|event| event.message == 4 && !is_recorded(event)).count();
        assert!(marks >= 2 && marks == inferred, "{case}: {marks} marks of {inferred} switches");
    }
}

#[test]
fn every_event_of_a_snapshot_is_in_the_perfetto_trace_once() {
    for case in ["slow-return--real", "blocking-task--no-preemption", "softirq", "idle-exit"] {
        let trace = perfetto(&archived(&[case]), &[]);
        let (counts, markers) = counted(case);
        assert!(!counts.is_empty(), "{case}");
        let recorded: Vec<&KernelEvent> = trace.events.iter().filter(|event| is_recorded(event)).collect();
        let closes = |event: &&&KernelEvent| CLOSES.contains(&event.message);
        let closing = recorded.iter().filter(closes).count();
        let named = |message: u64| MESSAGES.iter().find(|(number, _)| *number == message).map(|(_, name)| *name);
        let closing_names = ["softirq_exit", "irq_handler_exit", "workqueue_execute_end", "hrtimer_expire_exit"];
        let closing_recorded: usize = [&closing_names[..], &["timer_expire_exit", "local_timer_exit"]]
            .concat()
            .iter()
            .map(|name| counts.get(*name).copied().unwrap_or(0))
            .sum();
        assert!(closing >= closing_recorded, "{case}");
        assert_eq!(recorded.len() - closing, counts.values().sum::<usize>() - closing_recorded, "{case}");
        assert_eq!(trace.slices.iter().filter(|slice| slice.track == "markers").count(), markers, "{case}");
        for (message, name) in MESSAGES {
            let there = recorded.iter().filter(|event| named(event.message) == Some(name)).count();
            assert_eq!(there, counts.get(name).copied().unwrap_or(0), "{case}: {name} is message {message}");
        }
        for (name, count) in &counts {
            let generic = recorded.iter().filter(|event| event.generic.as_ref() == Some(name)).count();
            assert!(generic == 0 || generic == *count, "{case}: {name}");
        }
    }
}

/// Perfetto assumes that a record has no gaps: an open slice stays open until the next snapshot, seconds later.
#[test]
fn nothing_stays_open_and_nobody_stays_on_a_cpu_behind_a_snapshot() {
    for case in ["slow-return--real", "blocking-task", "not-explained--lost-events", "not-explained--missing-switch"] {
        let trace = perfetto(&archived(&[case]), &[]);
        let mut running: BTreeMap<u64, u64> = BTreeMap::new();
        let mut open: BTreeMap<(u64, u64), i64> = BTreeMap::new();
        let mut last_ns: BTreeMap<u64, u64> = BTreeMap::new();
        for event in &trace.events {
            let before_ns = last_ns.insert(event.cpu, event.ts_ns);
            assert!(before_ns.is_none_or(|before_ns| before_ns <= event.ts_ns), "{case}: a CPU goes back in time");
            if let Some(kind) = OPENS.iter().position(|&message| message == event.message) {
                *open.entry((event.cpu, CLOSES[kind])).or_default() += 1;
            }
            if let Some(count) = open.get_mut(&(event.cpu, event.message)) {
                *count = (*count - 1).max(0);
            }
            if event.message == 4 {
                let switch = fields(&event.content);
                let (prev, next) = (value(&switch, 2).unwrap(), value(&switch, 6).unwrap());
                let before = running.insert(event.cpu, next);
                assert!(before.is_none_or(|before| before == prev), "{case}: {prev} leaves, {before:?} had come");
            }
        }
        assert!(!running.is_empty() && running.values().all(|&tid| tid > NOBODY), "{case}: {running:?}");
        assert!(open.values().all(|&count| count == 0), "{case}: {open:?}");
    }
}

#[test]
fn fields_of_events_keep_their_values() {
    let trace = perfetto(&archived(&["blocking-task"]), &[]);
    let spike = spike_of("blocking-task");
    let events = fs::read_to_string(corpus("blocking-task").join("events.txt")).unwrap();
    let line = events.lines().rfind(|line| line.contains(&format!("next_pid={}", spike.tid))).unwrap();
    let of = |name: &str| line.split(&format!(" {name}=")).nth(1).unwrap().split(' ').next().unwrap().to_owned();
    let mut switches = trace.events.iter().filter(|event| event.message == 4).map(|event| fields(&event.content));
    let into_thread = switches.rfind(|switch| value(switch, 6) == Some(spike.tid as u64)).unwrap();
    for (number, name) in [(1, "prev_comm"), (5, "next_comm")] {
        assert_eq!(text(&into_thread, number), Some(of(name)), "{name}");
    }
    for (number, name) in [(2, "prev_pid"), (3, "prev_prio"), (4, "prev_state"), (7, "next_prio")] {
        assert_eq!(value(&into_thread, number).map(|value| value.to_string()), Some(of(name)), "{name}");
    }
    let due = spike.sample.due_ns as u64;
    let arm = trace.events.iter().find(|event| event.message == 551).map(|event| fields(&event.content)).unwrap();
    assert_eq!(value(&arm, 3), Some(due));
    let function = value(&arm, 2).unwrap();
    assert_eq!(trace.function_names.get(&function).map(String::as_str), Some("hrtimer_wakeup"));
}

#[test]
fn the_tracks_of_a_spike_sum_to_its_latency() {
    let cases = ["slow-return--real", "late-arm", "migration", "not-explained--lost-events"];
    let bench = archived(&cases);
    let trace = perfetto(&bench, &[]);
    for (case, number) in cases.iter().zip(11u32..) {
        let sample = spike_of(case).sample;
        let (due_ns, seen_ns) = (sample.due_ns as u64, sample.seen_ns() as u64);
        let group = format!("spike {number}: CPU {}", sample.cpu);
        let of = |track: &str| {
            let on_it = |slice: &&perfetto_reader::Slice| slice.track == track && slice.parent.starts_with(&group);
            trace.slices.iter().filter(on_it).collect::<Vec<_>>()
        };
        for track in ["phases", "who held the CPU"] {
            let mut at_ns = due_ns;
            for slice in of(track) {
                assert_eq!(slice.start_ns, at_ns, "{case}: {track} without gap or overlap");
                at_ns = slice.end_ns;
            }
            assert_eq!(at_ns, seen_ns, "{case}: {track} from due to seen");
        }
        let names: Vec<&str> = of("wake-up").iter().map(|slice| slice.name.as_str()).collect();
        assert!(names.contains(&"due") && names.contains(&"seen") && names.len() == 3, "{case}: {names:?}");
        let document = bench.run(&["explain", "here", "--json"]).json();
        let explained = document["spikes"].as_array().unwrap().iter().find(|spike| spike["spike"] == number).unwrap();
        for finding in explained["findings"].as_array().unwrap() {
            assert!(of("findings").iter().any(|slice| finding["sentence"] == slice.name), "{case}: {finding}");
        }
    }
}

#[test]
fn snapshots_that_overlap_are_in_the_file_once() {
    let once = perfetto(&archived(&["softirq"]), &["--spike", "11"]);
    let twice = perfetto(&archived(&["softirq", "softirq"]), &[]);
    assert_eq!(once.events, twice.events);
}

#[test]
fn lost_events_are_said_where_they_were_lost() {
    assert!(perfetto(&archived(&["not-explained--lost-events"]), &["--spike", "11"]).lost_bundles > 0);
    assert_eq!(perfetto(&archived(&["softirq"]), &["--spike", "11"]).lost_bundles, 0);
}

#[test]
fn one_spike_is_exported_by_number_and_others_are_refused() {
    let bench = archived(&["softirq", "irq-storm"]);
    let trace = perfetto(&bench, &["--spike", "12"]);
    assert!(trace.slices.iter().all(|slice| !slice.parent.starts_with("spike 11:")));
    assert!(trace.counts.is_empty(), "figures of the whole run would stretch a trace of one spike");
    for words in [
        &["--format", "perfetto", "--spike", "99"][..],
        &["--format", "trace-dat", "--spike", "all"],
        &["--format", "json", "--spike", "11"],
        &["--format", "perfetto", "--spike", "worst"],
        &["--format", "pcap"],
    ] {
        let ended = bench.run(&[&["export", "here"], words].concat());
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.stderr);
    }
    assert!(bench.run(&["export", "here", "--format", "perfetto", "--spike", "99"]).stderr.contains("1, 11, 12"));
}

#[test]
fn the_snapshot_itself_comes_out_byte_for_byte() {
    let bench = archived(&["softirq"]);
    let ended = bench.run(&["export", "here", "--format", "trace-dat", "--spike", "11", "--json"]);
    let path = ended.json()["path"].as_str().unwrap().to_owned();
    assert_eq!(path, "here/spike-0011.trace.dat");
    assert_eq!(fs::read(bench.path(&path)).unwrap(), fs::read(corpus("softirq").join("trace.dat")).unwrap());
}

#[test]
fn tables_and_the_document_hold_the_figures_of_the_archive() {
    let bench = archived(&[]);
    let table = |format: &str| bench.run(&["export", "here", "--format", format, "-o", "-"]).stdout;
    let histogram = table("histogram-csv");
    let counts = histogram.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse::<u64>().unwrap());
    assert_eq!(counts.sum::<u64>(), 3, "{histogram}");
    assert!(histogram.starts_with("thread,cpu,low_ns,high_ns,count\n0,0,1000,1000,1\n"), "{histogram}");
    assert_eq!(table("worst-csv"), "thread,cpu,cycle,due_ns,latency_ns\n0,0,7,3000000000,153214\n");
    assert_eq!(table("seconds-csv"), "thread,cpu,second,cycles,latency_ns_max,over_limit,missed_periods\n");
    let document: serde_json::Value = serde_json::from_str(&table("json")).unwrap();
    assert_eq!(document["summary"]["all_cpus"]["max"], 153_214);
    assert_eq!(document["summary"]["spikes"][0]["number"], 1);
}

#[test]
fn a_trace_that_is_none_leaves_its_spike_without_events() {
    let trace = perfetto(&archived(&[]), &[]);
    assert!(trace.events.is_empty());
    assert!(trace.slices.iter().any(|slice| slice.track == "wake-up" && slice.end_ns - slice.start_ns == 153_214));
}
