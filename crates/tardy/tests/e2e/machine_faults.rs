//! Machines that are killed, panic, run out of space or are asked to stop: the archive says so, and no process is left.

use crate::lab::{KERNEL, Lab, assert_gone, kill, machines, text};
use archive::manifest::RunState;
use archive::summary::RunSummary;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::sleep;
use std::time::Duration;

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_machine_that_is_killed_ends_the_run() {
    let lab = Lab::with(KERNEL, &[]);
    let (child, qemu) = lab.measuring(&["--duration", "100s", "--quiet"]);
    kill("-KILL", qemu);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(3));
    lab.assert_broken(qemu, "the machine went down");
}

/// A lab whose QEMU accepts commands.
fn commanded(options: &[&str]) -> Lab {
    Lab::with(KERNEL, &[options, &["--qemu-arg=-monitor", "--qemu-arg=unix:monitor,server=on,wait=off"]].concat())
}

/// Sends QEMU a command; the connection stays open until it is dropped.
fn command(lab: &Lab, words: &str) -> UnixStream {
    let mut monitor = UnixStream::connect(lab.path("monitor")).unwrap();
    monitor.write_all(format!("{words}\n").as_bytes()).unwrap();
    monitor
}

/// The answer of QEMU to a command that ends at once.
fn answer(lab: &Lab, words: &str) -> String {
    let mut monitor = command(lab, words);
    monitor.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let mut answer = Vec::new();
    // QEMU keeps the connection: the end of the answer is silence.
    let _ = monitor.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_cpu_that_the_host_takes_away_makes_the_run_invalid_and_is_named() {
    let lab = commanded(&["--cpus", "2"]);
    let (child, _) = lab.measuring(&["--duration", "20s", "--quiet"]);
    let cpus = answer(&lab, "info hotpluggable-cpus");
    // The list begins with the CPU that was added last.
    let last = cpus.split("qom_path: \"").nth(1).and_then(|rest| rest.split('"').next()).expect("a path of a CPU");
    answer(&lab, &format!("device_del {last}"));
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(3));
    let summary = RunSummary::of(&lab.archive(), &[]);
    let why: Vec<String> = summary.invalid_because.iter().map(|why| why.text.clone()).collect();
    assert!(why.iter().any(|why| why.starts_with("CPU 1 went offline shortly before ")), "{why:?}");
    assert!(!why.iter().any(|why| why.contains("CPU 0 went offline")), "{why:?}");
    assert_eq!(summary.cpus.len(), 2, "both have their totals");
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_machine_whose_clock_is_stopped_books_no_latency_for_that_time() {
    let lab = commanded(&["--cpus", "1"]);
    let (child, _) = lab.measuring(&["--duration", "10s", "--quiet"]);
    answer(&lab, "stop");
    let stopped = Duration::from_secs(10);
    sleep(stopped);
    answer(&lab, "cont");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
    let run = lab.archive();
    assert_eq!(run.manifest.as_ref().unwrap().state, RunState::Complete);
    let totals = &run.threads[&0].totals;
    let stopped_ns = stopped.as_nanos() as i64;
    assert!(totals.latency_ns_max.unwrap() < stopped_ns / 2, "{totals:?}");
    assert!((totals.missed_periods as i64) < stopped_ns / 2 / 1_000_000, "{totals:?}");
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_line_that_is_cut_ends_the_run_and_the_machine() {
    let lab = commanded(&[]);
    let (child, qemu) = lab.measuring(&["--duration", "100s", "--quiet"]);
    // QEMU and the guest continue, but nothing that the guest sends arrives.
    let _monitor = command(&lab, "chardev-change data null");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(3));
    lab.assert_broken(qemu, "the line to the meter was cut in phase measure");
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_panic_in_the_guest_ends_the_run_and_is_quoted() {
    let lab = commanded(&["--append", "unknown_nmi_panic"]);
    let (child, qemu) = lab.measuring(&["--duration", "100s", "--quiet"]);
    let _monitor = command(&lab, "nmi");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(3));
    lab.assert_broken(qemu, "Kernel panic");
    assert!(text(&lab.path("run/console.log")).contains("Kernel panic"));
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_guest_whose_memory_is_full_ends_and_reports_it() {
    let lab = Lab::with(KERNEL, &["--memory", "96"]);
    let child = lab.begin(&["--duration", "4s", "--load", "fault:64", "--trace", "off", "--quiet"]);
    let host = child.id() as i32;
    let ended = child.wait_with_output().unwrap();
    assert!(!machines().iter().any(|line| line.contains(&format!("tardy-vm-{host}-"))), "a machine is left");
    // The kernel chooses the first victim; in any case the archive reports it.
    let run = lab.archive();
    let manifest = run.manifest.as_ref().unwrap();
    assert_ne!(manifest.state, RunState::Running);
    let console = fs::read_to_string(lab.path("run/console.log")).unwrap_or_default();
    let reported = console.contains("Out of memory") || manifest.problem.is_some();
    assert!(reported, "{manifest:?} {}", String::from_utf8_lossy(&ended.stderr));
    assert_eq!(ended.status.success(), manifest.problem.is_none() && RunSummary::of(&run, &[]).valid);
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_host_that_is_killed_takes_its_machine_along() {
    let lab = Lab::with(KERNEL, &[]);
    let (mut child, qemu) = lab.measuring(&["--duration", "100s", "--quiet"]);
    kill("-KILL", child.id() as i32);
    child.wait().unwrap();
    assert_gone(qemu);
    assert_eq!(lab.archive().manifest.unwrap().state, RunState::Running);
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_request_to_stop_keeps_what_there_is() {
    let lab = Lab::with(KERNEL, &[]);
    let (child, qemu) = lab.measuring(&["--duration", "100s", "--quiet"]);
    assert!(machines().iter().any(|line| line.contains(&format!("tardy-vm-{}-", child.id()))));
    kill("-INT", child.id() as i32);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
    assert_gone(qemu);
    assert_eq!(lab.archive().manifest.unwrap().state, RunState::Interrupted);
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_kernel_without_a_first_process_is_a_failure_that_quotes_it() {
    let lab = Lab::with(KERNEL, &["--append", "rdinit=/absent"]);
    let ended = lab.run(&["--duration", "1s"]);
    assert_eq!(ended.status.code(), Some(3));
    let problem = String::from_utf8_lossy(&ended.stderr);
    assert!(problem.contains("failed to boot") && problem.contains("Kernel panic"), "{problem}");
    assert!(!lab.path("run").exists(), "a machine that did not boot measured nothing");
}
