//! The measuring loop makes exactly the intended system calls and allocations.

use crate::process::{Finished, Meter, cycles};
use archive::message::{Ending, Severity};
use archive::settings::{Policy, RunSettings};
use meter::kernel::sleep::timer;
use meter::measure::cycle::Cycles;
use meter::measure::schedule::Schedule;
use meter::measure::thread_record::ThreadRecord;
use prerequisites::{is_root, require};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::HashMap;
use std::process::Command;

/// Counts the allocations of each thread.
struct CountingAllocator;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is handed to the system allocator unchanged; the counter is a plain thread-local cell.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn the_loop_neither_allocates_nor_frees() {
    let record = ThreadRecord::new(0);
    let start_ns = meter::kernel::clock::monotonic_ns();
    let schedule = Schedule {
        dither: None,
        interval_ns: 100_000,
        first_due_ns: start_ns,
        count_from_ns: start_ns,
        end_ns: i64::MAX,
        cycles_max: 1_000,
        limit_ns: 0,
        spike_threshold_ns: 0,
        stretches: None,
        traced: true,
    };
    let mut cycles = Cycles::new(schedule, &record, 0, 1000);
    let before = ALLOCATIONS.with(Cell::get);
    let mut count = 0;
    while let Some(due_ns) = cycles.next_due_ns() {
        cycles.seen(timer::wake_at(due_ns));
        record.take_spike();
        count += 1;
    }
    let allocations = ALLOCATIONS.with(Cell::get) - before;
    assert_eq!((count, allocations), (1_000, 0));
    assert!(!Vec::<u8>::with_capacity(10).is_empty() || ALLOCATIONS.with(Cell::get) > before, "the counter counts");
}

#[test]
fn one_system_call_a_cycle() {
    require!(Program("strace"));
    let state = tempfile::tempdir().unwrap();
    let log = state.path().join("strace");
    let mut command = Command::new("strace");
    command.args(["-f", "-o"]).arg(&log).arg(env!("CARGO_BIN_EXE_tardy-meter"));
    let policy = if is_root() { Policy::Fifo } else { Policy::Other };
    let settings = RunSettings { cpus: Some(vec![0]), policy, interval_ns: 2_000_000, ..cycles(200) };
    let finished = Meter::start_as(command, &settings, state.path()).finish();
    assert_eq!(finished.ending(), Some(Ending::Complete));
    let text = std::fs::read_to_string(&log).unwrap();
    let mut calls: HashMap<&str, Vec<&str>> = HashMap::new();
    for line in text.lines().filter(|line| line.contains('(') && !line.contains("resumed>")) {
        let Some((tid, rest)) = line.split_once(' ') else { continue };
        calls.entry(tid).or_default().push(rest.trim_start().split('(').next().unwrap_or(""));
    }
    // The measuring thread is the one that sleeps most; there must be no other call between its sleeps.
    let measuring =
        calls.values().max_by_key(|names| names.iter().filter(|name| **name == "clock_nanosleep").count()).unwrap();
    let last = measuring.iter().rposition(|name| *name == "clock_nanosleep").unwrap();
    assert_eq!(finished.totals()[0].cycles, 200);
    let loop_calls = &measuring[last + 1 - 200..=last];
    assert!(loop_calls.iter().all(|name| *name == "clock_nanosleep"), "{loop_calls:?}");
}

#[test]
fn effective_settings_are_read_back_and_every_sample_is_sent() {
    let state = tempfile::tempdir().unwrap();
    let settings = RunSettings { policy: Policy::Other, every_sample: true, ..cycles(200) };
    let finished = Meter::start(&settings, state.path()).finish();
    assert_eq!(finished.ending(), Some(Ending::Complete));
    let totals = finished.totals();
    assert!(totals.iter().all(|totals| totals.cycles == 200 && totals.records_dropped == 0), "{totals:?}");
    let announced: u64 = finished
        .messages
        .iter()
        .filter_map(|message| match message {
            archive::message::Message::FileEnd { bytes, .. } => Some(bytes / 16),
            _ => None,
        })
        .sum();
    assert_eq!(announced, totals.iter().map(|totals| totals.cycles).sum::<u64>());
    let effective = finished.messages.iter().find_map(|message| match message {
        archive::message::Message::Effective(effective) => Some(effective.clone()),
        _ => None,
    });
    let threads = effective.unwrap().threads;
    assert!(
        threads
            .iter()
            .all(|thread| thread.policy == Policy::Other && thread.timer_slack_ns == 1 && thread.cpus.len() == 1)
    );
}

#[test]
fn deadline_and_round_robin_are_what_they_say() {
    require!(Root);
    for policy in [Policy::Rr, Policy::Deadline] {
        let state = tempfile::tempdir().unwrap();
        let settings = RunSettings { policy, priority: 7, cpus: Some(vec![0]), interval_ns: 5_000_000, ..cycles(20) };
        let finished = Meter::start(&settings, state.path()).finish();
        assert_eq!(finished.problems(Severity::Degraded), Vec::<String>::new(), "{policy:?}");
        assert_eq!(finished.totals()[0].cycles, 20);
    }
}

#[test]
fn without_privilege_it_refuses_at_once_and_measures_only_degraded() {
    require!(Root);
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let state = tempfile::tempdir().unwrap();
    std::fs::set_permissions(state.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let binary = state.path().join("tardy-meter");
    std::fs::copy(env!("CARGO_BIN_EXE_tardy-meter"), &binary).unwrap();
    let run = |degrade: bool, ms: u64| {
        let settings = RunSettings { degrade, ..crate::process::traced(ms) };
        let mut command = Command::new(&binary);
        command.uid(65534).gid(65534);
        Meter::start_as(command, &settings, state.path()).finish()
    };
    let refused = run(false, 300);
    assert_eq!(refused.ending(), Some(Ending::Failed));
    assert!(refused.totals().iter().all(|totals| totals.cycles == 0), "nothing is measured");
    assert!(!refused.problems(Severity::Invalid).is_empty());

    // On a busy machine ordinary threads may not run at all in a short time.
    let had_turns = |finished: &Finished| finished.totals().iter().all(|totals| totals.cycles > 10);
    let short = [300, 1200, 4800].into_iter().map(|ms| run(true, ms)).find(had_turns);
    let degraded = short.unwrap_or_else(|| run(true, 20_000));
    assert_eq!(degraded.ending(), Some(Ending::Complete));
    assert!(had_turns(&degraded), "{:?}", degraded.totals());
    assert!(degraded.problems(Severity::Invalid).is_empty(), "{:?}", degraded.problems(Severity::Invalid));
    let problems = degraded.problems(Severity::Degraded).join("\n");
    assert!(problems.contains("SCHED_FIFO priority 80 was asked for") && problems.contains("setcap"), "{problems}");
    assert!(problems.contains("without tracing"), "{problems}");
}
