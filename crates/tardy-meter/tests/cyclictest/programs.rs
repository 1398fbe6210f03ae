//! The two programs under comparison, run in a directory of their own.

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// What a program left behind.
#[derive(Debug)]
pub struct Ran {
    pub stdout: String,
    pub stderr: String,
    pub status: i32,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            status: output.status.code().unwrap_or(-1),
        }
    }
}

/// Our program, as it is called under its own name.
pub fn ours() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy-meter"));
    command.arg("cyclictest").stdin(Stdio::null());
    command
}

/// Runs ours with the words of a line.
pub fn run_ours(line: &str, directory: &Path) -> Ran {
    ours().args(line.split_whitespace()).current_dir(directory).output().unwrap().into()
}

/// Runs the one of rt-tests, which leaves its file in /dev/shm behind when it gives up.
pub fn run_theirs(line: &str, directory: &Path) -> Ran {
    let mut command = Command::new("cyclictest");
    command.args(line.split_whitespace()).current_dir(directory).stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let left_behind = format!("/dev/shm/cyclictest{}", child.id());
    let ran = child.wait_with_output().unwrap().into();
    let _ = std::fs::remove_file(left_behind);
    ran
}

/// Whether rt-tests 2.4 is installed.
pub fn theirs_is_there() -> bool {
    let help = Command::new("cyclictest").arg("--help").output();
    help.is_ok_and(|help| String::from_utf8_lossy(&help.stdout).starts_with("cyclictest V 2.40"))
}
