//! Leaving a spooler behind: a process that no line and no session holds.

use super::error::SpoolError;
use super::ledger;
use std::fs::DirBuilder;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Longest settings line that is passed on.
const SETTINGS_BYTES_MAX: u64 = 1 << 20;

/// What the host asks of a spooler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// The run's id, one word.
    pub run: String,
    /// Bytes the spool may take; 0 means a quarter of what is free, at most 256 MB.
    pub limit_bytes: u64,
    /// How long results wait for a host that does not come.
    pub keep: Duration,
    /// How long a run without an end of its own goes on without a host.
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

/// Starts a spooler with the settings line from standard input, and says `started`.
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
        // A spooler that does not listen says why.
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
