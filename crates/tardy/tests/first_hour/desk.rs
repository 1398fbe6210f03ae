//! A working directory with the built programs.

use archive::message::RunPhase;
use archive::reader::Run;
use fixtures::ended::Ended;
use fixtures::programs;
use fixtures::waiting::wait_until;
use prerequisites::Prerequisite::{Prepared, Root, Tracefs};
use prerequisites::met;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

pub struct Desk {
    folder: TempDir,
    /// The meter is that of `TARDY_METER`, not the one beside `tardy`.
    foreign_meter: bool,
}

impl Desk {
    /// `None` if this machine cannot measure.
    pub fn new() -> Option<Self> {
        let meter = programs::beside("tardy-meter").is_file();
        let needs = [Root, Tracefs, Prepared("a tardy-meter beside tardy (cargo build -p tardy-meter)", meter)];
        met(&needs).then(Self::without_a_meter)
    }

    /// For what needs no measurement.
    pub fn without_a_meter() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), foreign_meter: false }
    }

    pub fn with_meter_of_environment(self) -> Self {
        Self { foreign_meter: true, ..self }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A line of shell in which `tardy` is the built program.
    pub fn shell(&self, line: &str) -> Ended {
        let line = format!("tardy() {{ '{}' \"$@\"; }}; {line}", programs::tardy().display());
        let mut command = Command::new("sh");
        command.args(["-c", &line]).current_dir(self.folder.path()).env("XDG_CONFIG_HOME", self.path("config"));
        if !self.foreign_meter {
            command.env_remove("TARDY_METER");
        }
        // Where Cargo leaves it when it builds for tests.
        let library = programs::beside("deps").join(call_ring::LIBRARY_NAME);
        if library.is_file() {
            command.env("TARDY_INTERCEPTION_LIBRARY", library);
        }
        Ended::of(command.output().unwrap())
    }

    /// Waits until the run with this archive counts samples.
    #[track_caller]
    pub fn wait_until_measuring(&self, archive: &str) {
        wait_until(&format!("{archive} measures"), || {
            Run::open(self.path(archive))
                .is_ok_and(|run| run.phases.iter().any(|(phase, _)| *phase == RunPhase::Measure))
        });
    }

    /// Names of the entries of `runs`.
    pub fn runs(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path("runs")).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}

/// Whether the newest run counts anything beyond the limits of the command.
pub fn exceeds_a_limit(desk: &Desk, command: &str) -> bool {
    let is_limited = [" --limit ", " -b ", " --cycle-limit "].iter().any(|option| command.contains(option));
    let listed = desk.shell("tardy list --json").json();
    let runs = listed["runs"].as_array().unwrap();
    let newest = runs.iter().max_by_key(|run| run["started_unix_ns"].as_i64());
    is_limited && newest.is_some_and(|run| run["over_limit"] != 0)
}
