//! How the programs of rt-tests differ from the methods that are named after them, seen in their system calls.

use crate::process::{Meter, cycles};
use archive::message::Ending;
use archive::method::MethodRequest;
use archive::settings::RunSettings;
use prerequisites::require;
use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

/// Options of a pair of threads on one CPU.
const PAIR: [&str; 7] = ["-t1", "-a0", "-p80", "-i1000", "-l", "50", "-q"];

/// The system calls of a program in the order in which they start: thread and text of the call.
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
    // A call during which another thread makes one has a second line, at its end.
    let started = parts.filter(|(_, call)| !call.trim_start().starts_with("<..."));
    started.map(|(thread, call)| (thread.to_owned(), call.trim_start().to_owned())).collect()
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

/// The needs of the pairs' tests.
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

/// Its first thread sleeps once in 16 rounds: the other rounds directly follow each other, as ours with `rounds=requested` and
/// `caches=warm`.
#[test]
fn signaltest_sleeps_once_in_sixteen_rounds() {
    require!(Root, Program("strace"), Program("signaltest"));
    let calls = calls("signaltest", &["-t2", "-a0", "-p80", "-l", "160", "-q"]);
    let sleeps =
        |thread: &str| calls.iter().filter(|(other, call)| other == thread && call.contains("clock_nanosleep")).count();
    let main = &calls[0].0;
    let mut threads: Vec<&str> =
        calls.iter().map(|(thread, _)| thread.as_str()).filter(|thread| thread != main).collect();
    threads.sort_unstable();
    threads.dedup();
    let given = |thread: &str| calls.iter().filter(|(other, call)| other == thread && call.contains("tgkill")).count();
    let mut counted: Vec<(usize, usize)> = threads.iter().map(|thread| (sleeps(thread), given(thread))).collect();
    counted.sort_unstable();
    let [(never, _), (often, rounds)] = counted[..] else { panic!("{counted:?}") };
    assert_eq!(never, 0, "the second thread of the ring never sleeps: {counted:?}");
    assert!(often > 0 && (rounds / 16..=rounds / 16 + 2).contains(&often), "{counted:?}");
}

/// The C library's pthread_kill makes them around each signal, so they are part of each hop of the originals; ours calls tgkill alone,
/// unless it has `call=pthread_kill`.
#[test]
fn a_hop_of_the_originals_with_signals_has_three_more_system_calls() {
    require!(Root, Program("strace"), Program("signaltest"), Program("sigwaittest"));
    let ring = ["-t2", "-a0", "-p80", "-l", "64", "-q"];
    for (program, words, least) in [("signaltest", &ring[..], 100), ("sigwaittest", &PAIR[..], 40)] {
        let calls = calls(program, words);
        let main = &calls[0].0;
        let begins =
            |name: &str| calls.iter().filter(|(thread, call)| thread != main && call.starts_with(name)).count();
        let given = begins("tgkill(");
        assert!(given >= least, "{program}: {given}");
        for (name, each) in [("rt_sigprocmask(", 2), ("getpid(", 1)] {
            assert!(begins(name) >= each * given, "{program}, {name}: {} for {given} signals", begins(name));
        }
    }
}

/// The system calls that the thread makes around each of its signals in a run of this method.
fn calls_around_signals(method: &str) -> Vec<[String; 3]> {
    let state = tempfile::tempdir().unwrap();
    let log = state.path().join("calls");
    let mut command = Command::new("strace");
    command.args(["-f", "-e", "trace=tgkill,getpid,rt_sigprocmask,rt_sigtimedwait,clock_nanosleep", "-o"]);
    command.arg(&log).arg(env!("CARGO_BIN_EXE_tardy-meter"));
    let method = MethodRequest::parse(method).unwrap();
    let settings = RunSettings { method, cpus: Some(vec![0]), interval_ns: 2_000_000, ..cycles(50) };
    let finished = Meter::start_as(command, &settings, state.path()).finish();
    assert_eq!(finished.ending(), Some(Ending::Complete));
    let text = std::fs::read_to_string(log).unwrap();
    let mut of_threads: HashMap<&str, Vec<&str>> = HashMap::new();
    for line in text.lines().filter(|line| !line.contains("resumed>")) {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        of_threads.entry(thread).or_default().push(call.trim_start().split('(').next().unwrap_or(""));
    }
    let mut around = Vec::new();
    for calls in of_threads.values() {
        let near: Vec<&[&str]> = calls.windows(4).filter(|window| window[2] == "tgkill").collect();
        // Before its first signal a thread prepares itself, and after its last one it ends.
        let amid = near.get(1..near.len().saturating_sub(1)).unwrap_or_default();
        around.extend(amid.iter().map(|window| [window[0], window[1], window[3]].map(str::to_owned)));
    }
    around
}

#[test]
fn a_hop_has_the_calls_of_signaltest_if_asked() {
    require!(Root, Program("strace"));
    let bare = calls_around_signals("signal:rounds=requested");
    let waited = |[_, before, after]: &[String; 3]| before != "getpid" && after != "rt_sigprocmask";
    assert!(bare.len() >= 50 && bare.iter().all(waited), "{bare:?}");
    let around = calls_around_signals("signal:rounds=requested,call=pthread_kill");
    let expected = ["rt_sigprocmask", "getpid", "rt_sigprocmask"].map(str::to_owned);
    assert!(around.len() >= 50 && around.iter().all(|calls| *calls == expected), "{around:?}");
}

/// Its mean is that of the numbers of its buckets, which begin with 1 us: the loops that it counts would take many times as long as it
/// ran.
#[test]
fn the_mean_of_oslat_contradicts_its_duration() {
    require!(Root, Program("oslat"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("oslat.json");
    let json = format!("--json={}", path.display());
    let ended = Command::new("oslat").args(["-c0", "-C0", "-D", "1", "-q", &json]).output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let document: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let thread = &document["thread"]["0"];
    let (mean_us, duration_s) = (thread["avg"].as_f64().unwrap(), thread["duration"].as_f64().unwrap());
    let loops: u64 = thread["histogram"].as_object().unwrap().values().filter_map(serde_json::Value::as_u64).sum();
    let claimed_s = mean_us * loops as f64 / 1e6;
    assert!(claimed_s > 3.0 * duration_s, "{loops} loops of {mean_us} us in {duration_s} s");
}
