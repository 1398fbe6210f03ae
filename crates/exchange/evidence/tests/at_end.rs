//! Recordings of a machine that stopped in the middle: what its threads were doing then.

use archive::message::Message;
use archive::spike::{Spike, SpikeReason};
use archive::watched::WatchedKind;
use evidence::archived::{Archived, Origin, archived_at_end};
use evidence::file::{Contents, contents};
use evidence::problem::Refusal;
use evidence::request::AtEnd;
use std::fmt::Write;

const ARM: i32 = 10;
const ORIGIN: Origin<'_> = Origin { file_name: "tardy-kept", clock: "mono", imported_unix_ns: 0 };

/// A thread that a timer wakes each 10 ms, and another one that has its CPU from the last of these on; `ticks` follow until the machine stops.
fn recording(ticks: u32) -> String {
    let mut text = "# tracer: nop\n#\n".to_owned();
    let mut at = |task: &str, us: u32, event: &str| {
        let _ = writeln!(text, "{task:>16}-{} [001] d.h1. {}.{:06}: {event}", 0, 5 + us / 1_000_000, us % 1_000_000);
    };
    let switch = |from: &str, to: &str| {
        let of = |thread: &str, side: &str| match thread {
            "arm" => format!("{side}_comm=arm {side}_pid=10 {side}_prio=49"),
            "hog" => format!("{side}_comm=hog {side}_pid=11 {side}_prio=19"),
            _ => format!("{side}_comm=swapper/1 {side}_pid=0 {side}_prio=120"),
        };
        format!("sched_switch: {} prev_state=S ==> {}", of(from, "prev"), of(to, "next"))
    };
    for round in 0..5 {
        at("<idle>", round * 10_000, "sched_waking: comm=arm pid=10 prio=49 target_cpu=001");
        at("<idle>", round * 10_000 + 20, &switch("idle", "arm"));
        at("arm", round * 10_000 + 200, &switch("arm", "idle"));
    }
    at("<idle>", 49_000, &switch("idle", "hog"));
    at("hog", 50_000, "sched_waking: comm=arm pid=10 prio=49 target_cpu=001");
    for tick in 1..=ticks {
        at("hog", 50_000 + tick * 4_000, "softirq_entry: vec=1 [action=TIMER]");
        at("hog", 50_010 + tick * 4_000, "softirq_exit: vec=1 [action=TIMER]");
    }
    text
}

fn archive_of(text: &str, end: AtEnd) -> Result<(Archived, bool), Refusal> {
    let Contents::Events(mut recording) = contents(text.as_bytes(), "mono").unwrap() else { panic!("no events") };
    archived_at_end(recording.open(), end, ORIGIN)
}

fn asked(limit_ns: i64, known_until_ns: i64) -> AtEnd {
    AtEnd { threads: vec![ARM], limit_ns: Some(limit_ns), known_until_ns, ..AtEnd::default() }
}

fn spike(archived: &Archived) -> &Spike {
    let spikes = archived.messages.iter().filter_map(|message| match message {
        Message::Spike(spike) => Some(&**spike),
        _ => None,
    });
    let [spike] = spikes.collect::<Vec<_>>()[..] else { panic!("one spike") };
    spike
}

#[test]
fn a_wake_up_that_never_ended_is_as_late_as_the_last_event() {
    let (archived, unfinished) = archive_of(&recording(20), asked(10_000_000, i64::MIN)).unwrap();
    let spike = spike(&archived);
    assert!(unfinished);
    assert_eq!((spike.tid, spike.watched, spike.reason), (ARM, Some(WatchedKind::Woken), SpikeReason::OverLimit));
    assert_eq!(spike.sample.latency_ns, 80_010_000);
    assert!(archived.imported.lost.iter().any(|lost| lost.code.as_str() == "recording.stopped-machine"));
    assert_eq!(archived.files.len(), 1);
}

#[test]
fn without_one_it_is_the_last_miss_that_is_not_known_yet() {
    let (archived, unfinished) = archive_of(&recording(0), asked(10_000, i64::MIN)).unwrap();
    assert_eq!((unfinished, spike(&archived).reason), (false, SpikeReason::OverLimit));
    assert_eq!(spike(&archived).sample.latency_ns, 20_000);
    let seen_ns = spike(&archived).sample.seen_ns();
    let (archived, unfinished) = archive_of(&recording(0), asked(10_000, seen_ns)).unwrap();
    assert_eq!((unfinished, spike(&archived).reason), (false, SpikeReason::Control), "it is known");
}

#[test]
fn threads_that_never_woke_show_nothing() {
    let end = AtEnd { threads: vec![4711], ..asked(1, i64::MIN) };
    assert!(matches!(archive_of(&recording(2), end), Err(Refusal::NoSuchThread { .. })));
}
