//! Starts a spooler: a process detached from every connection and session.

use super::error::SpoolError;
use super::ledger;
use std::fs::DirBuilder;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Longest settings line to forward.
const SETTINGS_BYTES_MAX: u64 = 1 << 20;

/// Parameters of a spooler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// The run's ID, one word.
    pub run: String,
    /// Most bytes of the spool; 0 means a quarter of the free space, at most 256 MB.
    pub limit_bytes: u64,
    /// How long results are kept for an absent host.
    pub keep: Duration,
    /// How long a run without an end continues without a host.
    pub alone: Duration,
}

impl Terms {
    pub fn of(run: &str, limit_bytes: &str, keep_s: &str, alone_s: &str) -> Option<Self> {
        let seconds = |text: &str| text.parse().ok().map(Duration::from_secs);
        Some(Self {
            run: run.into(),
            limit_bytes: limit_bytes.parse().ok()?,
            keep: seconds(keep_s)?,
            alone: seconds(alone_s)?,
        })
    }

    fn words(&self) -> [String; 4] {
        let seconds = |time: Duration| time.as_secs().to_string();
        [self.run.clone(), self.limit_bytes.to_string(), seconds(self.keep), seconds(self.alone)]
    }
}

/// Starts a spooler with the settings line from standard input, and prints `started`.
///
/// # Errors
/// [`SpoolError`].
pub fn start(place: &Path, terms: &Terms) -> Result<(), SpoolError> {
    let mut settings = Vec::new();
    let read = BufReader::new(std::io::stdin()).take(SETTINGS_BYTES_MAX).read_until(b'\n', &mut settings);
    read.map_err(SpoolError::ReadSettings)?;
    let spool = ledger::directory(place);
    let made = DirBuilder::new().mode(0o700).create(&spool);
    made.map_err(|error| SpoolError::MakeDirectory { spool: spool.clone(), error })?;
    let mut spooler = Command::new("/proc/self/exe")
        .args(["spool", "keep"])
        .arg(place)
        .args(terms.words())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(SpoolError::StartSpooler)?;
    if let Some(mut input) = spooler.stdin.take() {
        // If the spooler does not read its input, its exit shows why.
        let _ = input.write_all(&settings);
    }
    let mut said = String::new();
    if let Some(output) = spooler.stdout.take() {
        let _ = BufReader::new(output).take(4096).read_line(&mut said);
    }
    if said.trim() == "started" {
        println!("started");
        return Ok(());
    }
    let _ = std::fs::remove_dir_all(&spool);
    Err(SpoolError::SpoolerRefused(said.trim().to_owned()))
}
