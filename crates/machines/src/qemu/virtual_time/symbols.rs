//! The names of the kernel's functions, from a short boot of their own.

use super::super::process::Process;
use super::VirtualTimeTarget;
use super::extras::Extras;
use super::shared_memory::{SYMBOLS_FILE, contents};
use crate::stop::StopRequests;
use archive::settings::{RunSettings, SnapshotMode, TraceSettings};
use std::thread;
use std::time::{Duration, Instant};

/// A boot takes seconds; a busy host may take many times as long.
const BOOT_LIMIT: Duration = Duration::from_secs(600);
const LOOK_EVERY: Duration = Duration::from_millis(50);

impl VirtualTimeTarget {
    /// Boots the guest's kernel and has it tell its functions: lines as in /proc/kallsyms.
    ///
    /// # Errors
    /// A sentence.
    pub fn symbols(&mut self, stop: &StopRequests) -> Result<String, String> {
        if self.boot.is_none() {
            self.prepared()?;
        }
        let boot = self.boot.as_mut().ok_or("it has not been prepared")?;
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
        let said = contents(&path).map_err(|error| format!("failed to read {}: {error}", path.display()))?;
        let said = String::from_utf8_lossy(&said).into_owned();
        if said.lines().count() < 2 {
            let words = process.complaints().join(" | ");
            return Err(format!("the guest reported no names of its kernel's functions {words}"));
        }
        Ok(said)
    }
}

fn wait(process: &mut Process, stop: &StopRequests) -> Result<(), String> {
    let begun = Instant::now();
    while process.exit().is_none() {
        if stop.count() > 0 {
            return Err("stopped on request".into());
        }
        if begun.elapsed() > BOOT_LIMIT {
            return Err("the guest does not end".into());
        }
        thread::sleep(LOOK_EVERY);
    }
    Ok(())
}
