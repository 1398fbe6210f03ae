//! A machine in virtual time as a target: its clock counts executed instructions.
//!
//! The guest measures once, with settings from its initial file system; `virtual_time` in the meter is the other end,
//! and docs/explanation/virtual-time.md explains what such figures mean.

mod arguments;
mod boot;
mod debugger;
pub mod error;
mod extras;
mod guest_run;
mod ingredients;
mod processor_thread;
mod shared_memory;
mod standing;
pub(crate) mod steady;
mod symbols;

#[cfg(any(test, feature = "fakes"))]
pub mod fake_qemu;
#[cfg(test)]
mod tests;

use super::error::PrepareError;
use super::guest_reports::lock;
use super::initramfs::SentFile;
use super::machine_file::VirtualMachine;
use super::{find_program, kernel, static_meter};
use crate::console::Console;
use crate::scratch::Scratch;
use crate::{Caveat, Command, RunningCommand, Target, TargetError};
use boot::Boot;
pub use debugger::Registers;
use error::VirtualTimeError;
use extras::Extras;
pub use extras::Recording;
use guest_run::GuestRun;
pub use standing::StandingMachine;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Host name of every guest: the target's name would give two targets with one kernel different trajectories.
const GUEST_NAME: &str = "virtual-time";
/// A loaded guest takes about ten times as long as its own clock shows, and boots silently.
const SLOWDOWN: u32 = 100;

/// A machine in virtual time.
pub struct VirtualTimeTarget {
    name: String,
    plain_name: String,
    machine: VirtualMachine,
    meter: PathBuf,
    cache: PathBuf,
    sent: Vec<SentFile>,
    scratch: Option<Scratch>,
    boot: Option<Boot>,
    console: Arc<Mutex<Console>>,
    recording: Option<Recording>,
}

impl VirtualTimeTarget {
    /// A target that runs `meter`, with kernels from `cache`.
    pub fn new(name: &str, machine: VirtualMachine, meter: &Path, cache: &Path) -> Self {
        Self {
            name: format!("{name} (virtual time)"),
            plain_name: name.into(),
            machine,
            meter: meter.into(),
            cache: cache.into(),
            sent: Vec::new(),
            scratch: None,
            boot: None,
            console: Arc::default(),
            recording: None,
        }
    }

    /// The same with the flight recorder, which is invisible to the guest.
    #[must_use]
    pub fn recording(self, recording: Recording) -> Self {
        Self { recording: Some(recording), ..self }
    }

    fn prepared(&mut self) -> Result<(), PrepareError> {
        let program = find_program(&self.machine)?;
        // The guest receives nothing, so it needs no modules for that.
        let modules = kernel::own_modules(&self.machine, &self.cache)?;
        let kernel = kernel::Kernel { modules, ..kernel::find(&self.machine, &self.cache)? };
        let meter = static_meter(&self.meter, self.machine.architecture)?;
        let scratch = Scratch::make("vm").map_err(PrepareError::NoScratch)?;
        self.boot = Some(Boot {
            program,
            machine: self.machine.clone(),
            kernel,
            meter,
            hostname: GUEST_NAME.into(),
            sent: self.sent.clone(),
            scratch: scratch.0.clone(),
            extras: Extras { recording: self.recording.clone(), ..Extras::default() },
        });
        self.scratch = Some(scratch);
        Ok(())
    }
}

impl Target for VirtualTimeTarget {
    fn name(&self) -> &str {
        &self.name
    }

    fn prepare(&mut self) -> Result<(), TargetError> {
        self.prepared().map_err(|why| TargetError::Prepare { target: self.plain_name.clone(), why: why.into() })
    }

    /// Puts a file into the initial file system, which is all that the guest has.
    fn send_file(&mut self, from: &Path, to: &Path) -> Result<(), TargetError> {
        let file = SentFile::read(from, to).map_err(|source| self.copy_failed(from, to, source))?;
        self.sent.retain(|sent| sent.path != file.path);
        self.sent.push(file);
        if let Some(boot) = &mut self.boot {
            boot.sent.clone_from(&self.sent);
        }
        Ok(())
    }

    /// Runs the measurement in the guest, whatever program the command names. It boots when its settings are written to
    /// it.
    fn start(&mut self, command: &Command) -> Result<Box<dyn RunningCommand>, TargetError> {
        let fail = |why: VirtualTimeError| TargetError::Boot { target: self.plain_name.clone(), why: why.into() };
        if command.arguments != ["measure"] {
            return Err(fail(VirtualTimeError::NotMeasuring));
        }
        let boot = self.boot.clone().ok_or_else(|| fail(VirtualTimeError::NotPrepared))?;
        Ok(Box::new(GuestRun::new(boot, Arc::clone(&self.console))))
    }

    fn fetch_file(&mut self, from: &Path, to: &Path) -> Result<(), TargetError> {
        let why = "a machine in virtual time gives nothing back but the stream of its measurement";
        Err(self.copy_failed(from, to, io::Error::new(io::ErrorKind::Unsupported, why)))
    }

    /// Everything that determines what happens in the guest, except the settings of the run.
    fn ingredients(&self) -> BTreeMap<String, String> {
        self.boot.as_ref().map(ingredients::of).unwrap_or_default()
    }

    fn console(&self) -> Vec<u8> {
        lock(&self.console).text()
    }

    fn forgets(&self) -> bool {
        true
    }

    fn slowdown(&self) -> u32 {
        SLOWDOWN
    }

    fn caveat(&self) -> Option<Caveat> {
        Some(Caveat::VirtualTime { realtime_permitted: steady::is_permitted() })
    }

    fn close(&mut self) -> Result<(), TargetError> {
        self.boot = None;
        self.scratch = None;
        Ok(())
    }
}

impl VirtualTimeTarget {
    fn copy_failed(&self, from: &Path, to: &Path, source: io::Error) -> TargetError {
        TargetError::Copy { target: self.plain_name.clone(), from: from.to_owned(), to: to.to_owned(), source }
    }
}
