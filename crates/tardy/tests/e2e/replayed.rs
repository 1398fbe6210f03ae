//! A run in virtual time is repeated up to a late wake-up: a debugger finds the machine where the flight record says.

use super::lab::{Lab, assert_gone, children, kill, name};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Output, Stdio};

fn said(ended: &Output) -> String {
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8_lossy(&ended.stdout).into_owned()
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn gdb_stands_in_the_function_that_the_record_names_and_goes_on_as_it_happened() {
    let lab = Lab::with("debian:6.1", &["--virtual-time", "--append", "preempt=full"]);
    let (run, _) = lab.measured("run", &["--duration", "1s", "--load", "dentry", "--load", "copy"]);
    assert!(
        lab.tardy(&["virtual", "record", "run", "--worst", "1", "--controls", "1", "-q"]).status().unwrap().success()
    );

    let reported = said(&lab.tardy(&["virtual", "replay", "run", "--json"]).output().unwrap());
    let reported: Value = serde_json::from_str(&reported).unwrap();
    let function = reported["functions"][0].as_str().expect("the worst wake-up of this load is late in the kernel");
    let latency_ns = run.threads[&0].totals.latency_ns_max.unwrap();
    assert_eq!(reported["latency_ns"].as_i64(), Some(latency_ns));
    assert!((-100..=0).contains(&reported["ns_after_due"].as_i64().unwrap()), "{reported}");
    assert!(reported["samples_identical"].as_u64().unwrap() > 0, "{reported}");

    let words =
        ["-nx", "-batch", "-ex", "info symbol $pc", "-ex", "callers", "-ex", "break asm_sysvec_apic_timer_interrupt"];
    let more = ["-ex", "continue", "-ex", "info symbol $pc"];
    let mut replay = lab.tardy(&["virtual", "replay", "run", "--gdb", "--"]);
    let page = said(&replay.args(words).args(more).output().unwrap());
    assert!(page.lines().any(|line| line.starts_with(&format!("{function} "))), "{function}: {page}");
    let callers: Vec<&str> = reported["functions"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(page.contains(&callers.join("\n")), "{callers:?}: {page}");
    assert!(page.lines().any(|line| line == "asm_sysvec_apic_timer_interrupt in section .text"), "{page}");

    let seen = said(&lab.tardy(&["virtual", "replay", "run", "--at", "seen"]).output().unwrap());
    assert!(seen.contains("callers, the innermost first\n  a program\n"), "{seen}");
}

/// A replay whose machine is stopped: `tardy`, its QEMU, and its gdb if there is one.
struct Standing {
    replay: Child,
    lines: Box<dyn Iterator<Item = String>>,
    qemu: i32,
}

impl Standing {
    /// Reads the output up to a line that begins with these words.
    fn begin(lab: &Lab, words: &[&str], until: &str) -> Self {
        let mut replay = lab.tardy(&[&["virtual", "replay", "run", "--cycle", "100"], words].concat());
        let mut replay = replay.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(replay.stdout.take().unwrap()).lines().map(Result::unwrap);
        assert!(lines.any(|line| line.starts_with(until)), "it never came to {until:?}");
        let qemu = children(replay.id() as i32).into_iter().find(|pid| name(*pid).starts_with("qemu-system"));
        Self { replay, lines: Box::new(lines), qemu: qemu.expect("a QEMU runs") }
    }

    fn gdb(&self) -> i32 {
        children(self.replay.id() as i32).into_iter().find(|pid| name(*pid).starts_with("gdb")).expect("a gdb runs")
    }

    /// Waits for all processes to end; returns the exit code and the last output.
    fn end(mut self) -> (Option<i32>, String) {
        self.lines.by_ref().for_each(drop);
        let mut said = String::new();
        self.replay.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let code = self.replay.wait().unwrap().code();
        assert_gone(self.qemu);
        (code, said)
    }
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_machine_that_stands_ends_however_its_visitor_does() {
    let lab = Lab::with("debian:6.1-rt", &["--virtual-time"]);
    lab.measured("run", &["--duration", "300ms"]);
    for signal in ["-INT", "-TERM", "-HUP"] {
        let standing = Standing::begin(&lab, &["--listen"], "  gdb -x ");
        kill(signal, standing.replay.id() as i32);
        let (code, said) = standing.end();
        assert!(code == Some(0) && said.contains("stopped on request; the machine was ended"), "{signal}: {said}");
    }

    let standing = Standing::begin(&lab, &["--listen"], "  gdb -x ");
    kill("-KILL", standing.qemu);
    let (code, said) = standing.end();
    assert!(code == Some(0) && said.contains("the machine ended"), "{said}");

    let standing = Standing::begin(&lab, &["--listen"], "  gdb -x ");
    kill("-KILL", standing.replay.id() as i32);
    assert_eq!(standing.end().0, None);

    let gdb = ["--gdb", "--", "-nx", "-ex", "echo here\\n"];
    for (signal, whom) in [("-KILL", "gdb"), ("-TERM", "tardy"), ("-HUP", "tardy")] {
        let standing = Standing::begin(&lab, &gdb, "here");
        let gdb = standing.gdb();
        kill(signal, if whom == "gdb" { gdb } else { standing.replay.id() as i32 });
        let (code, said) = standing.end();
        let expected = if whom == "gdb" { "gdb was ended by a signal" } else { "stopped on request" };
        assert!(code == Some(3) && said.contains(expected), "{signal} to {whom}: {said}");
        assert!(!name(gdb).starts_with("gdb"), "gdb {gdb} is left");
    }

    let absent = lab.tardy(&["virtual", "replay", "run", "--spike", "77"]).output().unwrap();
    let why = String::from_utf8_lossy(&absent.stderr).into_owned();
    assert!(absent.status.code() == Some(2) && why.contains("no spike 77"), "{why}");
}
