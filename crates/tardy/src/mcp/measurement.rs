//! A measurement: `tardy run` as a child, whose output does not mix with the protocol, and which restores the machine at SIGTERM.

use super::context::Context;
use super::problem::RequestProblem;
use crate::archives::new_below;
use crate::storing::unix_ns;
use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// Time beyond the requested one to start a target, and again to restore it.
pub const GRACE: Duration = Duration::from_secs(120);
/// Interval of looking whether the child has ended.
const POLL: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct Measurement<'a> {
    pub target: &'a str,
    pub seconds: u64,
    pub load: Option<&'a str>,
    pub limit_us: Option<u64>,
}

impl Measurement<'_> {
    /// Measures into a new archive below the first directory of the server.
    ///
    /// # Errors
    /// If nothing was measured.
    pub fn run(&self, context: &Context) -> anyhow::Result<PathBuf> {
        let runs = context.directories.all().first().context("failed to find a directory for the run")?;
        let (archive, _) = new_below(runs, u64::try_from(unix_ns() / 1_000_000_000)?, self.target)?;
        let output = context.temporary.place()?;
        let child = self.start(&archive, output.path())?;
        let status = ended(child, Instant::now() + Duration::from_secs(self.seconds) + GRACE, context)?;
        let has_measured = matches!(status.code(), Some(0 | 1));
        if has_measured {
            return Ok(archive);
        }
        // It is empty if the run did not begin.
        let _ = fs::remove_dir(&archive);
        Err(RequestProblem::MeasurementFailed(why(output.path(), status)).into())
    }

    fn start(&self, archive: &Path, output: &Path) -> anyhow::Result<Child> {
        let program = std::env::current_exe().context("failed to find the program tardy")?;
        let output = File::create(output).context("failed to make a file for the output of the run")?;
        let mut command = Command::new(program);
        command.args(["run", "--json"]).arg("--out").arg(archive).args(self.options());
        command.stdin(Stdio::null()).stdout(output).stderr(Stdio::null());
        command.spawn().context("failed to start tardy run")
    }

    /// Options in one word each, so that a value is never an option of its own.
    fn options(&self) -> Vec<String> {
        let mut options = vec![format!("--target={}", self.target), format!("--duration={}s", self.seconds)];
        options.extend(self.load.map(|load| format!("--load={load}")));
        options.extend(self.limit_us.map(|us| format!("--limit={us}us")));
        options
    }
}

/// Waits for the child; at the deadline, or when it must stop, asks it to end, and kills it if it does not.
fn ended(mut child: Child, deadline: Instant, context: &Context) -> anyhow::Result<ExitStatus> {
    let mut asked_at: Option<Instant> = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        let is_over = Instant::now() >= deadline || context.must_stop.load(Ordering::SeqCst);
        match asked_at {
            None if is_over => {
                asked_at = Some(Instant::now());
                kill_process(Pid::from_child(&child), Signal::TERM)?;
            }
            Some(at) if at.elapsed() > GRACE => child.kill()?,
            _ => {}
        }
        thread::sleep(POLL);
    }
}

/// The reason in the document of a run that failed.
fn why(output: &Path, status: ExitStatus) -> String {
    let document: Option<Value> = fs::read(output).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let error = document.as_ref().and_then(|document| document.get("error"));
    let text =
        |key: &str| error.and_then(|error| error.get(key)).and_then(Value::as_str).filter(|text| !text.is_empty());
    match (text("text"), text("fix")) {
        (Some(text), Some(fix)) => format!("{text}; {fix}"),
        (Some(text), None) => text.to_owned(),
        (None, _) => format!("the run ended with {status}"),
    }
}
