//! Tests whose threads do not get to run, or get signals.

use crate::programs::{Ran, ours, sleeps, wait_for_sleeps};
use fixtures::waiting::wait_until;
use prerequisites::require;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn start(line: &str) -> Child {
    ours().args(line.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn finish(child: Child) -> Ran {
    child.wait_with_output().unwrap().into()
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Periods that each thread missed in a run with a stop of 50 ms, and its largest latency in µs.
fn missed_in_a_stop(json: &std::path::Path) -> Vec<(u64, u64)> {
    let child = start(&format!("-Sp80 -d 0 -m -q -D 2 --json={}", json.display()));
    wait_for_sleeps(&child, 1, 100);
    signal(&child, Signal::STOP);
    std::thread::sleep(Duration::from_millis(50));
    signal(&child, Signal::CONT);
    let ran = finish(child);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let result: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let threads = result["tardy"]["threads"].as_object().unwrap();
    for (name, thread) in threads {
        let (missed, cycles) =
            (thread["missed_periods"].as_u64().unwrap(), result["thread"][name]["cycles"].as_u64().unwrap());
        // Nothing is lost: what was not measured was missed.
        assert!((1_998..=2_001).contains(&(missed + cycles)), "{missed} missed, {cycles} measured");
        assert!(ran.stderr.contains(&format!("thread {name}: {missed} periods missed")), "{}", ran.stderr);
    }
    let seen = |(name, thread): (&String, &Value)| {
        (thread["missed_periods"].as_u64().unwrap(), result["thread"][name]["max"].as_u64().unwrap())
    };
    threads.iter().map(seen).collect()
}

/// Prints the effect of a real stop. A busy machine misses additional periods, and stops a process later or longer than
/// requested: `scripted_clock` of the meter checks the exact numbers.
#[test]
#[ignore = "a benchmark: prints what a stop of 50 ms comes to on this machine"]
fn bench_a_stop_of_50_ms() {
    require!(Root);
    let directory = tempfile::tempdir().unwrap();
    for _ in 0..8 {
        println!(
            "missed periods and largest latency in us of each thread: {:?}",
            missed_in_a_stop(&directory.path().join("result.json"))
        );
    }
}

#[test]
fn status_is_printed_on_request_and_the_test_goes_on() {
    let child = start("-t 2 -q -i 2000");
    wait_for_sleeps(&child, 2, 10);
    signal(&child, Signal::USR1);
    signal(&child, Signal::USR2);
    let name = format!("/dev/shm/cyclictest{}", child.id());
    let mut shared = String::new();
    wait_until("a status in /dev/shm", || {
        shared = std::fs::read_to_string(&name).unwrap();
        !shared.is_empty()
    });
    let most = sleeps(&child).into_iter().max().unwrap();
    wait_for_sleeps(&child, 2, most + 10);
    signal(&child, Signal::INT);
    let ran = finish(child);
    for text in [&shared, &ran.stderr] {
        let mut lines = text.lines().skip_while(|line| !line.starts_with("#---"));
        assert_eq!(lines.next(), Some("#---------------------------"), "{text}");
        assert_eq!(lines.next(), Some("# cyclictest current status:"));
        assert!(lines.next().unwrap().starts_with("T: 0 (") && lines.next().unwrap().starts_with("T: 1 ("));
        assert_eq!(lines.next(), Some("#---------------------------"));
    }
    assert_eq!(ran.status, 0);
    assert!(ran.stdout.contains("T: 1"), "{}", ran.stdout);
    assert!(!std::path::Path::new(&name).exists(), "the file goes with the process");
}

#[test]
fn a_signal_to_one_thread_harms_none() {
    let child = start("-t 2 -q -l 1000 -i 2000 -d 0");
    wait_for_sleeps(&child, 2, 10);
    let threads = std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
    let process = child.id() as i32;
    for thread in threads.map(|entry| entry.unwrap().file_name().to_string_lossy().parse::<i32>().unwrap()) {
        if thread != process {
            for signal in [Signal::USR1, Signal::USR2, Signal::INT, Signal::ALARM] {
                // SAFETY: tgkill takes three integers and touches no memory of ours.
                unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal.as_raw()) };
            }
        }
    }
    let ran = finish(child);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let cycles =
        ran.stdout.lines().filter(|line| line.starts_with("T:")).map(|line| {
            line.split_once("C:").unwrap().1.trim_start().split(' ').next().unwrap().parse::<u64>().unwrap()
        });
    let cycles: Vec<u64> = cycles.collect();
    // The first that reaches the end ends the test.
    assert!(cycles.len() == 2 && cycles.iter().max() == Some(&1000), "{cycles:?}");
    assert!(cycles.iter().all(|cycles| *cycles > 100), "{cycles:?}");
}

#[test]
fn an_interrupted_test_prints_what_it_measured() {
    let child = start("-q -i 1000");
    wait_for_sleeps(&child, 1, 10);
    signal(&child, Signal::INT);
    let ran = finish(child);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("T: 0"), "{}", ran.stdout);
    // Interrupted before the end of the first interval: nothing was measured, which is a failure.
    let child = start("-q -i 3000000000");
    wait_for_sleeps(&child, 1, 1);
    signal(&child, Signal::INT);
    let ran = finish(child);
    assert_eq!(ran.status, 3);
    assert!(ran.stderr.contains("nothing was measured"), "{}", ran.stderr);
}

#[test]
fn a_slow_reader_of_samples_costs_samples_that_are_counted() {
    require!(Root);
    let mut child = start("-v -i 100 -p 70 -D 4");
    let mut output = child.stdout.take().unwrap();
    wait_for_sleeps(&child, 1, 1);
    // Many more samples than the pipe and the queue before it hold.
    wait_until("samples that are not read", || sleeps(&child).first().is_none_or(|count| *count >= 25_000));
    let mut text = String::new();
    std::io::Read::read_to_string(&mut output, &mut text).unwrap();
    let ran = finish(child);
    let cycles: Vec<u64> = text
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(':').map(str::trim);
            fields.next()?.parse::<u64>().ok()?;
            fields.next()?.parse().ok()
        })
        .collect();
    assert!(cycles.windows(2).all(|pair| pair[0] < pair[1]), "no sample is printed twice or out of order");
    let dropped = ran
        .stderr
        .lines()
        .find(|line| line.contains("samples not printed"))
        .unwrap_or_else(|| panic!("{}", ran.stderr));
    let dropped: u64 = dropped.split_whitespace().nth(3).unwrap().parse().unwrap();
    let last = cycles.last().unwrap() + 1;
    assert!(
        dropped > 0 && cycles.len() as u64 + dropped >= last,
        "{dropped} dropped, {} printed of {last}",
        cycles.len()
    );
}

#[test]
fn a_fifo_serves_every_reader_and_waits_for_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("status");
    let child = start(&format!("-q -t 2 -F {}", path.display()));
    wait_for_sleeps(&child, 2, 10);
    for _ in 0..2 {
        let read = Command::new("timeout").arg("60").arg("cat").arg(&path).output().unwrap();
        let text = String::from_utf8(read.stdout).unwrap();
        assert!(text.starts_with("T: 0 (") && text.lines().count() >= 2, "{text:?}");
    }
    // A reader that never reads does not delay the end of the test.
    let stalled = std::fs::OpenOptions::new().read(true).open(&path);
    signal(&child, Signal::INT);
    let ran = finish(child);
    drop(stalled);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(!path.exists());
}

#[test]
fn a_reader_that_stalls_cannot_hold_a_test_that_is_to_stop() {
    let mut child = start("-v -i 50");
    let output = child.stdout.take().unwrap();
    // Each sample is a line of at least twenty bytes, and a pipe holds 64 kB.
    wait_for_sleeps(&child, 1, 10_000);
    for _ in 0..200 {
        if child.try_wait().unwrap().is_some() {
            break;
        }
        signal(&child, Signal::TERM);
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(child.try_wait().unwrap().and_then(|status| status.code()), Some(3), "its results were not read");
    drop(output);
}
