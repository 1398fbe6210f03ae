//! The first step of `make test`: where `CI` is set, a machine that cannot run every test fails at once, with the reason.

use prerequisites::require;
use std::process::{Command, Output};

/// Runs `this_machine_can_run_every_test` in a mount namespace of its own, after this command.
fn first_step_after(command: &str, ci: &str) -> Output {
    let script = format!("{command} && exec \"$0\" --exact this_machine_can_run_every_test --nocapture");
    let own = std::env::current_exe().expect("a test has a path");
    let mut step = Command::new("unshare");
    step.args(["--mount", "sh", "-c", &script]).arg(own).env("CI", ci).env_remove("TARDY_SKIPPED_TESTS");
    step.output().expect("unshare was found")
}

/// Hides every tracefs, whether mounted by itself or below debugfs.
const HIDE_TRACEFS: &str = "mount -t tmpfs none /sys/kernel/tracing && mount -t tmpfs none /sys/kernel/debug";

#[test]
fn this_machine_can_run_every_test() {
    require!(Root, Tracefs);
}

#[test]
fn without_tracefs_the_first_step_fails_in_ci_and_names_it() {
    require!(Root, Tracefs, Program("unshare"));
    let hidden = first_step_after(HIDE_TRACEFS, "true");
    let printed = String::from_utf8_lossy(&hidden.stderr).into_owned() + &String::from_utf8_lossy(&hidden.stdout);
    assert_eq!(hidden.status.code(), Some(101), "{printed}");
    assert!(printed.contains("this machine lacks a writable tracefs (mount -t tracefs"), "{printed}");
    assert!(first_step_after("true", "true").status.success(), "with tracefs it passes");
    assert!(first_step_after(HIDE_TRACEFS, "").status.success(), "elsewhere a test is skipped");
}
