//! How the programs of rt-tests differ from the methods that are named after them, seen in their system calls.

use prerequisites::require;
use std::path::Path;
use std::process::Command;

/// Options of a pair of threads on one CPU.
const PAIR: [&str; 7] = ["-t1", "-a0", "-p80", "-i1000", "-l", "50", "-q"];

/// The system calls of a program, in order: thread and text of the call.
fn calls(program: &str, options: &[&str]) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("calls");
    let mut command = Command::new("strace");
    command.args(["-f", "-o"]).arg(&log).arg(program).args(options);
    // svsematest makes its key from the file that a shell names there.
    command.env("_", "/");
    // rt-migrate-test fails where strace keeps its threads from the CPU.
    let ended = command.output().unwrap();
    assert!(ended.status.success() || program == "rt-migrate-test", "{program}: {ended:?}");
    let text = std::fs::read_to_string(log).unwrap();
    let parts = text.lines().filter_map(|line| line.trim_start().split_once(' '));
    parts.map(|(thread, call)| (thread.to_owned(), call.trim_start().to_owned())).collect()
}

/// The first call with one of these names that a thread makes after each sleep.
fn first_after_sleep<'a>(calls: &'a [(String, String)], names: &[&str]) -> Vec<&'a str> {
    let sleeps = calls.iter().enumerate().filter(|(_, (_, call))| call.contains("clock_nanosleep"));
    let starts = |call: &str| names.iter().any(|name| call.starts_with(name));
    let next = |(at, (thread, _)): (usize, &'a (String, String))| {
        calls[at + 1..].iter().find(|(other, call)| other == thread && starts(call)).map(|(_, call)| call.as_str())
    };
    sleeps.filter_map(next).collect()
}

/// What the tests of the pairs need.
macro_rules! require_pairs {
    () => {
        require!(
            Root,
            Program("strace"),
            Program("svsematest"),
            Program("ptsematest"),
            Program("pmqtest"),
            Program("sigwaittest")
        )
    };
}

/// There the waiting thread sleeps, and wakes its partner before it waits: the timed hand-over directly follows one in the other
/// direction, which leaves the kernel's part of the path in the caches; as ours with `rounds=requested`.
#[test]
fn the_originals_time_a_hand_over_that_follows_another_one() {
    require_pairs!();
    let hand_overs = [
        ("svsematest", &["semtimedop", "semop"][..], "sem_op=1"),
        ("ptsematest", &["futex"], "FUTEX_WAKE"),
        ("pmqtest", &["mq_timedsend", "mq_timedreceive"], "mq_timedsend"),
        ("sigwaittest", &["tgkill", "rt_sigtimedwait"], "tgkill"),
    ];
    for (program, names, gives) in hand_overs {
        let calls = calls(program, &PAIR);
        let first = first_after_sleep(&calls, names);
        let given = first.iter().filter(|call| call.contains(gives)).count();
        assert!(given >= 40 && given == first.len(), "{program}: {given} of {}: {first:?}", first.len());
    }
}

/// The woken thread cannot preempt its partner, so their figures include the way of the partner into its next wait; as ours with
/// `rounds=requested`.
#[test]
fn the_two_threads_of_a_pair_of_the_originals_have_one_priority() {
    require_pairs!();
    for program in ["svsematest", "ptsematest", "pmqtest", "sigwaittest"] {
        let calls = calls(program, &PAIR);
        let main = &calls[0].0;
        let of_pair = calls.iter().filter(|(thread, call)| thread != main && call.starts_with("sched_setscheduler("));
        let set: Vec<_> = of_pair.collect();
        assert!(set.len() == 2 && set[0].0 != set[1].0, "{program}: {set:?}");
        assert!(set.iter().all(|(_, call)| call.contains("SCHED_FIFO, [80]")), "{program}: {set:?}");
    }
}

/// The time to format and write the mark is part of its figures.
#[test]
fn rt_migrate_test_writes_into_the_trace_between_its_clock_and_its_call() {
    let marker = Path::new("/sys/kernel/debug/tracing/trace_marker");
    require!(Root, Program("strace"), Program("rt-migrate-test"), Prepared("tracefs below debugfs", marker.exists()));
    let calls = calls("rt-migrate-test", &["-p80", "-D", "1", "-q"]);
    let main = &calls[0].0;
    let of_main: Vec<&str> = calls.iter().filter(|(thread, _)| thread == main).map(|(_, call)| call.as_str()).collect();
    let marks = of_main
        .windows(2)
        .filter(|pair| pair[0].starts_with("write(") && pair[0].contains("now=") && pair[1].starts_with("futex("));
    let marks: Vec<_> = marks.filter(|pair| pair[1].contains("FUTEX_WAKE") && !pair[0].contains("end")).collect();
    assert!(marks.len() >= 3, "{of_main:?}");
}
