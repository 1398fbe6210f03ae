//! A run in virtual time is made again up to a late wake-up: a debugger finds the machine where the flight record says.

use super::lab::{Lab, assert_gone, children, kill, name};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Output, Stdio};

fn said(ended: &Output) -> String {
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8_lossy(&ended.stdout).into_owned()
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn gdb_stands_in_the_function_that_the_record_names_and_goes_on_as_it_happened() {
    let lab = Lab::with("debian:6.1", &["--virtual-time", "--append", "preempt=full"]);
    let (run, _) = lab.measured("run", &["--duration", "1s", "--load", "dentry", "--load", "copy"]);
    assert!(lab.tardy(&["record", "run", "--worst", "1", "--controls", "1", "-q"]).status().unwrap().success());

    let told = said(&lab.tardy(&["replay", "run", "--json"]).output().unwrap());
    let told: Value = serde_json::from_str(&told).unwrap();
    let function = told["functions"][0].as_str().expect("the worst wake-up of this load is late in the kernel");
    let latency_ns = run.threads[&0].totals.latency_ns_max.unwrap();
    assert_eq!(told["latency_ns"].as_i64(), Some(latency_ns));
    assert!((-100..=0).contains(&told["ns_after_due"].as_i64().unwrap()), "{told}");
    assert!(told["samples_identical"].as_u64().unwrap() > 0, "{told}");

    let words =
        ["-nx", "-batch", "-ex", "info symbol $pc", "-ex", "callers", "-ex", "break asm_sysvec_apic_timer_interrupt"];
    let more = ["-ex", "continue", "-ex", "info symbol $pc"];
    let mut replay = lab.tardy(&["replay", "run", "--gdb", "--"]);
    let page = said(&replay.args(words).args(more).output().unwrap());
    assert!(page.lines().any(|line| line.starts_with(&format!("{function} "))), "{function}: {page}");
    let callers: Vec<&str> = told["functions"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(page.contains(&callers.join("\n")), "{callers:?}: {page}");
    assert!(page.lines().any(|line| line == "asm_sysvec_apic_timer_interrupt in section .text"), "{page}");

    let seen = said(&lab.tardy(&["replay", "run", "--at", "seen"]).output().unwrap());
    assert!(seen.contains("callers, the innermost first\n  a program\n"), "{seen}");
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_machine_that_waits_for_a_debugger_ends_on_request() {
    let lab = Lab::with("debian:6.1-rt", &["--virtual-time"]);
    lab.measured("run", &["--duration", "300ms"]);
    let mut replay =
        lab.tardy(&["replay", "run", "--cycle", "100", "--listen"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(replay.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.starts_with("  gdb -x ")), "it never listened");
    let qemu = children(replay.id() as i32).into_iter().find(|pid| name(*pid).starts_with("qemu-system"));
    kill("-INT", replay.id() as i32);
    assert!(replay.wait().unwrap().success());
    assert_gone(qemu.expect("a QEMU runs"));

    let absent = lab.tardy(&["replay", "run", "--spike", "77"]).output().unwrap();
    let why = String::from_utf8_lossy(&absent.stderr).into_owned();
    assert!(absent.status.code() == Some(2) && why.contains("no spike 77"), "{why}");
}
