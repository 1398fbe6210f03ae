//! Reads the names of the kernel's functions in a short separate boot.

use super::super::file_error::FileError;
use super::super::process::Process;
use super::VirtualTimeTarget;
use super::error::VirtualTimeError;
use super::extras::Extras;
use super::shared_memory::{SYMBOLS_FILE, contents};
use crate::stop::StopRequests;
use archive::settings::{RunSettings, SnapshotMode, TraceSettings};
use std::thread;
use std::time::{Duration, Instant};

/// A boot takes seconds; on a busy host it may take many times as long.
const BOOT_LIMIT: Duration = Duration::from_secs(600);
const LOOK_EVERY: Duration = Duration::from_millis(50);

impl VirtualTimeTarget {
    /// Boots the guest's kernel and returns its functions: lines as in /proc/kallsyms.
    ///
    /// # Errors
    /// [`VirtualTimeError`].
    pub fn symbols(&mut self, stop: &StopRequests) -> Result<String, VirtualTimeError> {
        if self.boot.is_none() {
            self.prepared()?;
        }
        let boot = self.boot.as_mut().ok_or(VirtualTimeError::NotPrepared)?;
        boot.extras = Extras { symbols: true, ..Extras::default() };
        let settings = RunSettings {
            duration_ns: None,
            cycles: Some(1),
            settle_ns: 0,
            trace: TraceSettings { mode: SnapshotMode::Off, ..TraceSettings::default() },
            ..RunSettings::default()
        };
        let mut process = boot.start(settings)?;
        wait(&mut process, stop)?;
        let path = boot.scratch.join(SYMBOLS_FILE);
        let output = contents(&path).map_err(FileError::reading(path))?;
        let output = String::from_utf8_lossy(&output).into_owned();
        if output.lines().count() < 2 {
            return Err(VirtualTimeError::NoSymbols { lines: process.complaints() });
        }
        Ok(output)
    }
}

fn wait(process: &mut Process, stop: &StopRequests) -> Result<(), VirtualTimeError> {
    let begun = Instant::now();
    while process.exit().is_none() {
        if stop.count() > 0 {
            return Err(VirtualTimeError::Stopped);
        }
        if begun.elapsed() > BOOT_LIMIT {
            return Err(VirtualTimeError::Endless);
        }
        thread::sleep(LOOK_EVERY);
    }
    Ok(())
}
