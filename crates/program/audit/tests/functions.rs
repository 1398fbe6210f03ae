//! Calls of functions of the C library, which no system call shows, become findings of the thread that made them.

use archive::audit::{AuditDescription, AuditedThread};
use archive::settings::Policy;
use audit::activity::{Activity, Call};
use audit::naming::NoNames;
use audit::read::Recorded;
use audit::report::{AuditReport, Scope, judge};
use call_ring::function::Function;
use call_ring::function::mutex_kind::{INHERITS, PROTECTS};
use std::collections::BTreeMap;

const URGENT: i32 = 7;
const ORDINARY: i32 = 8;
const LOCK: u64 = 0x1000;
const PERIOD_NS: i64 = 1_000_000;
const CYCLES: i64 = 10;

/// A wait in clock_nanosleep(2) on x86-64, every millisecond.
fn waits() -> Vec<Call> {
    let wait = |at: i64| Call {
        number: 230,
        arguments: [1, 1, 0, 0, 0, 0],
        answer: Some(0),
        start_ns: at * PERIOD_NS,
        end_ns: at * PERIOD_NS + 100,
        waited_ns: 90,
        ..Call::default()
    };
    (0..=CYCLES).map(wait).collect()
}

/// A call in each cycle, from one place.
fn in_each_cycle(function: Function, place: u64, arguments: [u64; 6]) -> Vec<Call> {
    let call = |cycle: i64| {
        let start_ns = cycle * PERIOD_NS + 500;
        Call {
            number: i64::from(function as u32),
            arguments,
            answer: Some(0),
            start_ns,
            end_ns: start_ns + 10,
            stack: [place, 0x99].as_slice().into(),
            ..Call::default()
        }
    };
    (0..CYCLES).map(call).collect()
}

fn judged(of_urgent: Vec<Call>, of_ordinary: Vec<Call>) -> AuditReport {
    let thread =
        |tid, policy, priority| AuditedThread { tid, pid: URGENT, policy, priority, ..AuditedThread::default() };
    let description = AuditDescription {
        machine: "x86_64".into(),
        threads: vec![thread(URGENT, Some(Policy::Fifo), 40), thread(ORDINARY, Some(Policy::Other), 0)],
        ..AuditDescription::default()
    };
    let activity = |tid, library_calls| {
        let last_ns = CYCLES * PERIOD_NS + 100;
        (
            tid,
            Activity {
                calls: waits(),
                function_calls: library_calls,
                records_calls: true,
                last_ns,
                ..Activity::new(tid, 0)
            },
        )
    };
    let threads = BTreeMap::from([activity(URGENT, of_urgent), activity(ORDINARY, of_ordinary)]);
    judge(&description, &Recorded { threads, ..Recorded::default() }, Scope::RealTime, 0, &mut NoNames)
}

fn found(report: &AuditReport) -> Vec<(&str, u64, u64)> {
    let place = |finding: &audit::rules::Habit| finding.stack.first().map_or(0, |frame| frame.address);
    report.findings.iter().map(|finding| (finding.rule, finding.count, place(finding))).collect()
}

#[test]
fn each_place_that_uses_the_heap_is_a_finding_with_its_number() {
    let mut calls = in_each_cycle(Function::Malloc, 0x10, [64, 0, 0, 0, 0, 0]);
    calls.extend(in_each_cycle(Function::Malloc, 0x20, [8, 0, 0, 0, 0, 0]));
    calls.extend(in_each_cycle(Function::Delete, 0x30, [0x5000, 0, 0, 0, 0, 0]));
    // Outside of the loop.
    calls.push(Call { start_ns: 2 * CYCLES * PERIOD_NS, ..calls[0].clone() });
    let report = judged(calls, in_each_cycle(Function::Malloc, 0x40, [0; 6]));
    assert_eq!(found(&report), [("heap-allocation", 10, 0x10), ("heap-allocation", 10, 0x20), ("heap-free", 10, 0x30)]);
    let counts: Vec<(&str, u64)> =
        report.threads[0].function_calls.iter().map(|call| (call.name.as_str(), call.count)).collect();
    assert_eq!(counts, [("malloc", 10), ("malloc", 10), ("operator delete", 10)]);
}

#[test]
fn a_lock_that_nobody_waited_for_is_found_unless_it_lends_its_priority() {
    let lock = |kind: u64| in_each_cycle(Function::MutexLock, 0x10, [LOCK, kind, 0, 0, 0, 0]);
    let alone = judged(lock(0), Vec::new());
    assert_eq!(found(&alone), [("lock-that-may-wait", 10, 0x10)]);
    let shared = judged(lock(0), lock(0));
    assert_eq!(found(&shared), [("lock-that-may-wait", 10, 0x10), ("lock-across-priorities", 10, 0x10)]);
    for kind in [INHERITS, PROTECTS, INHERITS | 1] {
        assert_eq!(found(&judged(lock(kind), lock(kind))), []);
    }
    let tried = in_each_cycle(Function::MutexTrylock, 0x10, [LOCK, 0, 0, 0, 0, 0]);
    assert_eq!(found(&judged(tried, lock(0))), []);
    let read = in_each_cycle(Function::ReadLock, 0x10, [LOCK, INHERITS, 0, 0, 0, 0]);
    assert_eq!(found(&judged(read, Vec::new())), [("lock-that-may-wait", 10, 0x10)]);
}

#[test]
fn a_lock_that_an_ordinary_thread_took_before_the_loop_only_is_not_shared() {
    let lock = in_each_cycle(Function::MutexLock, 0x10, [LOCK, 0, 0, 0, 0, 0]);
    let before = vec![Call { start_ns: -5000, end_ns: -4000, ..lock[0].clone() }];
    assert_eq!(found(&judged(lock, before)), [("lock-that-may-wait", 10, 0x10)]);
}
