//! A working directory with the built programs.

use prerequisites::Prerequisite::{Prepared, Root, Tracefs};
use prerequisites::met;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

pub struct Desk {
    folder: TempDir,
    /// The meter is that of `TARDY_METER`, not the one beside `tardy`.
    foreign_meter: bool,
}

pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Desk {
    /// `None` if this machine cannot measure.
    pub fn new() -> Option<Self> {
        let meter = Path::new(env!("CARGO_BIN_EXE_tardy")).with_file_name("tardy-meter").is_file();
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
        let line = format!("tardy() {{ '{}' \"$@\"; }}; {line}", env!("CARGO_BIN_EXE_tardy"));
        let mut command = Command::new("sh");
        command.args(["-c", &line]).current_dir(self.folder.path()).env("XDG_CONFIG_HOME", self.path("config"));
        if !self.foreign_meter {
            command.env_remove("TARDY_METER");
        }
        // Where Cargo leaves it when it builds for tests.
        let library = Path::new(env!("CARGO_BIN_EXE_tardy")).with_file_name("deps").join(call_ring::LIBRARY_NAME);
        if library.is_file() {
            command.env("TARDY_INTERCEPTION_LIBRARY", library);
        }
        Ended::of(command.output().unwrap())
    }

    /// Names of the entries of `runs`.
    pub fn runs(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path("runs")).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}

impl Ended {
    fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    /// All output, without line breaks.
    pub fn shown(&self) -> String {
        format!("{} {}", self.stdout, self.stderr).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Whether the summary counts anything beyond the limits of the command.
    pub fn exceeds_a_limit(&self, command: &str) -> bool {
        let shown = self.shown();
        let has = |option: &str| command.contains(option);
        let late = (has(" --limit ") || has(" -b ")) && !shown.contains("None came later than");
        late || (has(" --cycle-limit ") && !shown.contains("No cycle took longer than"))
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.shown()))
    }
}
