//! A run on a machine of a test, which must succeed.

use archive::manifest::RunState;
use archive::settings::RunSettings;
use machines::Target;
use machines::stop::StopRequests;
use runner::run::{RunRequest, TimeLimits, run};
use std::path::PathBuf;
use std::time::Duration;

/// Measures with these settings into this directory. Preparing the machine may take as long as `patience`.
pub fn measure(machine: &mut dyn Target, settings: RunSettings, directory: PathBuf, patience: Duration) {
    let request = RunRequest {
        id: "measured".into(),
        directory,
        command: Vec::new(),
        tool_version: "0".into(),
        meter: "tardy-meter".into(),
        limits: TimeLimits { prepare: patience, ..TimeLimits::of(&settings, patience) },
        settings,
    };
    let outcome = run(machine, &request, &StopRequests::default(), &mut |_| {}).unwrap();
    assert_eq!(outcome.state, RunState::Complete, "{:?}", outcome.problem);
}
