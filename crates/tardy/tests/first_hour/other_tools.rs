//! The commands of other tools on the pages for their users; those of `tardy` there are examples like all others.

use crate::desk::Desk;
use crate::examples::found::lines_of_blocks;
use crate::examples::shortened;
use fixtures::repository::repository_path;
use prerequisites::Prerequisite::{Kernel, Program};
use prerequisites::{has_program, met, tracefs};

/// The lines of the page that are not of `tardy`; at least this many.
fn theirs(page: &str, tool: &str, at_least: usize) -> Vec<String> {
    let lines = lines_of_blocks(&repository_path("docs/how-to").join(page));
    let (ours, theirs): (Vec<String>, Vec<String>) = lines.into_iter().partition(|line| line.starts_with("tardy "));
    assert!(theirs.iter().all(|line| line.contains(tool)), "{page}: {theirs:?}");
    assert!(theirs.len() >= at_least && ours.len() >= theirs.len(), "{page}: {theirs:?}, {ours:?}");
    theirs
}

fn all_succeed(desk: &Desk, lines: impl IntoIterator<Item = String>) {
    for line in lines {
        let line = shortened(&line);
        eprintln!("run: {line}");
        let ended = desk.shell(&line);
        assert_eq!(ended.code, Some(0), "{line}: {}", ended.shown());
    }
}

#[test]
fn the_commands_of_cyclictest_run() {
    let lines = theirs("from-cyclictest.md", "cyclictest", 7);
    let Some(desk) = Desk::new().filter(|_| met(&[Program("cyclictest"), Program("hackbench")])) else { return };
    all_succeed(&desk, lines);
    let imported = desk.shell("tardy import cyclictest.json --out imported");
    assert_eq!(imported.code, Some(0), "{}", imported.shown());
}

#[test]
fn the_commands_of_rtla_run() {
    let lines = theirs("from-rtla.md", "rtla", 4);
    let tracers = tracefs().and_then(|root| std::fs::read_to_string(root.join("available_tracers")).ok());
    let has = |name| tracers.as_deref().is_some_and(|list| list.split_whitespace().any(|one| one == name));
    let there = has_program("rtla") && has("timerlat") && has("osnoise");
    let Some(desk) = Desk::new().filter(|_| met(&[Kernel("rtla, timerlat and osnoise", there)])) else { return };
    all_succeed(&desk, lines);
}

#[test]
fn the_commands_of_trace_cmd_run() {
    let lines = theirs("from-trace-cmd.md", "trace-cmd", 5);
    let Some(desk) = Desk::new().filter(|_| met(&[Program("trace-cmd")])) else { return };
    let spike = desk.shell(
        "tardy run -q -D 2s --limit 1us --beside-others; tardy export latest --format trace-dat -o spike.dat; \
         printf '#!/bin/sh\\nsleep 0.1\\n' > robot; chmod +x robot",
    );
    assert_eq!(spike.code, Some(0), "{}", spike.shown());
    let (recording, reading): (Vec<String>, Vec<String>) =
        lines.into_iter().partition(|line| line.starts_with("trace-cmd record"));
    all_succeed(&desk, reading);
    // Its own instance, so that other tests may trace. It insists on writing kernel.ftrace_enabled, which some machines refuse.
    let probe = desk.shell("trace-cmd record -B other-tools -e sched_switch -o probe.dat true");
    if met(&[Kernel("a kernel that lets trace-cmd record", probe.code == Some(0))]) {
        all_succeed(&desk, recording.iter().map(|line| line.replace("record ", "record -B other-tools ")));
    }
    desk.shell("rmdir /sys/kernel/tracing/instances/other-tools");
}
