//! How the programs of rt-tests differ from the methods that are named after them, seen in their system calls.

use prerequisites::require;
use std::process::Command;

/// The system calls of a program, in order: thread and text of the call.
fn calls(program: &str) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("calls");
    let mut command = Command::new("strace");
    command.args(["-f", "-o"]).arg(&log).args([program, "-t1", "-a0", "-p80", "-i1000", "-l", "50", "-q"]);
    // svsematest makes its key from the file that a shell names there.
    command.env("_", "/");
    assert!(command.output().unwrap().status.success(), "{program}");
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

/// There the waiting thread sleeps, and wakes its partner before it waits: the timed hand-over directly follows one in the other
/// direction, which leaves the kernel's part of the path in the caches. So their figures are between ours with `caches=warm` and
/// with `caches=cold`.
#[test]
fn the_originals_time_a_hand_over_that_follows_another_one() {
    require!(
        Root,
        Program("strace"),
        Program("svsematest"),
        Program("ptsematest"),
        Program("pmqtest"),
        Program("sigwaittest")
    );
    let hand_overs = [
        ("svsematest", &["semtimedop", "semop"][..], "sem_op=1"),
        ("ptsematest", &["futex"], "FUTEX_WAKE"),
        ("pmqtest", &["mq_timedsend", "mq_timedreceive"], "mq_timedsend"),
        ("sigwaittest", &["tgkill", "rt_sigtimedwait"], "tgkill"),
    ];
    for (program, names, gives) in hand_overs {
        let calls = calls(program);
        let first = first_after_sleep(&calls, names);
        let given = first.iter().filter(|call| call.contains(gives)).count();
        assert!(given >= 40 && given == first.len(), "{program}: {given} of {}: {first:?}", first.len());
    }
}
