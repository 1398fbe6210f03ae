//! The two compared programs, each run in its own directory.

use fixtures::waiting::wait_until;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// Output of a program.
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

/// This project's program under its own name.
pub fn ours() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy-meter"));
    command.arg("cyclictest").stdin(Stdio::null());
    command
}

/// Runs it with the words of a line.
pub fn run_ours(line: &str, directory: &Path) -> Ran {
    ours().args(line.split_whitespace()).current_dir(directory).output().unwrap().into()
}

/// Runs that of rt-tests, which leaves its file in /dev/shm behind if it gives up.
pub fn run_theirs(line: &str, directory: &Path) -> Ran {
    let mut command = Command::new("cyclictest");
    command.args(line.split_whitespace()).current_dir(directory).stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let left_behind = format!("/dev/shm/cyclictest{}", child.id());
    let ran = child.wait_with_output().unwrap().into();
    let _ = std::fs::remove_file(left_behind);
    ran
}

/// How often each measuring thread of a running test has slept.
pub fn sleeps(child: &Child) -> Vec<u64> {
    let threads = fs::read_dir(format!("/proc/{}/task", child.id())).into_iter().flatten().flatten();
    let measuring = threads.filter(|thread| thread.file_name().to_string_lossy() != child.id().to_string());
    let count = |thread: fs::DirEntry| {
        let status = fs::read_to_string(thread.path().join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse().ok()
    };
    measuring.filter_map(count).collect()
}

/// Waits until a test measures with `threads` threads, each of which has slept at least `least` times.
pub fn wait_for_sleeps(child: &Child, threads: usize, least: u64) {
    wait_until("sleeps of every measuring thread", || {
        let sleeps = sleeps(child);
        sleeps.len() >= threads && sleeps.iter().all(|count| *count >= least)
    });
}

/// Whether rt-tests 2.4 is installed.
pub fn theirs_is_there() -> bool {
    let help = Command::new("cyclictest").arg("--help").output();
    help.is_ok_and(|help| String::from_utf8_lossy(&help.stdout).starts_with("cyclictest V 2.40"))
}
