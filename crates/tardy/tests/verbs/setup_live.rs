//! `tardy setup` on this machine: a user measures with a full trace and without root, another user gets nothing, and the machine
//! ends as it was to the byte, also after SIGKILL at any change.

mod killed;
mod machine;
mod users;

use archive::setup::METER_PATH;
use fixtures::fake_meter::Ended;
use machine::Snapshot;
use std::path::Path;
use users::{Stranger, User};

const TRACEFS: &str = "/sys/kernel/tracing";
/// A program that sleeps and wakes ten times.
const ROBOT: &str = "mkfifo never; exec 9<>never; for n in 1 2 3 4 5 6 7 8 9 10; do read -r -t 0.05 -u 9; done; true";

/// A root's `tardy` with a state directory of the test.
fn root(state: &Path, words: &[&str]) -> Ended {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tardy"));
    Ended::of(command.args(words).env("TARDY_STATE_DIR", state).env_remove("TARDY_METER").output().unwrap())
}

/// Reverts the setup however the test ends.
struct SetUp<'a>(&'a Path);

impl Drop for SetUp<'_> {
    fn drop(&mut self) {
        root(self.0, &["setup", "--undo"]);
    }
}

/// The state of each step.
fn states(setup: &Ended) -> Vec<(String, serde_json::Value)> {
    let steps = setup.json()["steps"].as_array().unwrap().clone();
    steps.iter().map(|one| (one["step"].as_str().unwrap().into(), one["state"].clone())).collect()
}

#[test]
fn one_user_measures_without_root_and_the_machine_is_restored_to_the_byte() {
    let Some(user) = User::created() else { return };
    let state = user.state();
    let before = Snapshot::taken();
    let refused = user.tardy(&["run", "--duration", "100ms", "--beside-others"]);
    assert!(refused.code == Some(3) && refused.stderr.contains("sudo tardy setup --apply"), "{}", refused.shown());
    let planned = root(&state, &["setup", "--user", user.name, "--json"]);
    assert!(states(&planned).iter().any(|(_, state)| state.get("needed").is_some()), "{}", planned.shown());
    before.assert_same("a plan changes nothing");

    let _set_up = SetUp(&state);
    let made = root(&state, &["setup", "--user", user.name, "--apply", "--json"]);
    assert_eq!(made.code, Some(0), "{}", made.shown());
    let again = root(&state, &["setup", "--user", user.name, "--json"]);
    let is_open = |state: &serde_json::Value| state.get("needed").is_some();
    assert!(!states(&again).iter().any(|(_, state)| is_open(state)), "{}", again.shown());
    user_measures(&user);
    nobody_else_gets_access();
    let other = root(&state, &["setup", "--user", "nobody", "--apply"]);
    assert!(other.code == Some(3) && other.stderr.contains("other members"), "{}", other.shown());

    let undone = root(&state, &["setup", "--undo"]);
    assert_eq!(undone.code, Some(0), "{}", undone.shown());
    before.assert_same("the setup is undone");
    let again = root(&state, &["setup", "--undo"]).stdout;
    assert!(!again.contains(" = "), "nothing is left to undo: {again}");
    let refused = user.tardy(&["run", "--duration", "100ms", "--beside-others"]);
    assert_eq!(refused.code, Some(3), "{}", refused.shown());
}

fn user_measures(user: &User) {
    let run = user.tardy(&["run", "--duration", "2s", "--limit", "1us", "--beside-others", "--out", "r", "--json"]);
    let summary = run.json();
    let threads = summary["effective"]["threads"].as_array().cloned().unwrap_or_default();
    assert!(!threads.is_empty() && threads.iter().all(|thread| thread["policy"] == "fifo"), "{}", run.shown());
    assert!(summary["effective"]["memory_locked_kb"].as_u64() > Some(0), "{}", summary["effective"]);
    let spikes = summary["spikes"].as_array().cloned().unwrap_or_default();
    let has_trace = |spike: &serde_json::Value| {
        let status = &spike["explanation"]["status"];
        status == "explained" || status == "not_explained"
    };
    assert!(spikes.iter().any(has_trace), "no late wake-up has a trace: {}", run.shown());
    let problems = summary["problems"].to_string();
    assert!(!problems.contains("ermission denied") && !problems.contains("tracing"), "{problems}");

    let idle = user.tardy(&["run", "--duration", "100ms", "--cpu-dma-latency", "0", "--beside-others", "--json"]);
    assert_eq!(idle.json()["effective"]["cpu_dma_latency_us"], 0, "{}", idle.shown());
    let watched = user.tardy(&["watch", "--beside-others", "--", "bash", "-c", ROBOT]);
    assert_eq!(watched.code, Some(0), "{}", watched.shown());
    let audited =
        user.tardy(&["audit", "--settle", "0", "--", "bash", "-c", ROBOT.trim_start_matches("mkfifo never; ")]);
    assert_eq!(audited.code, Some(0), "{}", audited.shown());
    let checked = user.tardy(&["check"]);
    assert!(!checked.stdout.contains("limits.real-time-priority"), "{}", checked.stdout);
    let root_only =
        user.tardy(&["run", "--set", "/proc/sys/vm/stat_interval=9", "--duration", "100ms", "--beside-others"]);
    assert!(root_only.code == Some(3) && root_only.stderr.contains("sudo"), "{}", root_only.shown());
}

fn nobody_else_gets_access() {
    let stranger = Stranger;
    assert!(!stranger.may(&[METER_PATH, "--version"]), "the meter is open to others");
    assert!(!stranger.may(&["ls", TRACEFS]), "the trace is open to others");
    assert!(!stranger.may(&["ls", &format!("{TRACEFS}/instances")]));
    assert!(!stranger.may(&["mkdir", &format!("{TRACEFS}/instances/tardy-stranger")]));
    assert!(!stranger.may(&["dd", "if=/dev/cpu_dma_latency", "count=0"]), "the device is open to others");
    assert!(stranger.may(&["ls", "/"]), "the stranger can do nothing at all, so the test shows nothing");
}
