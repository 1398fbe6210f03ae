//! The parts of a boot in virtual time, and QEMU for it.

use super::super::file_error::FileError;
use super::super::initramfs::{self, SentFile};
use super::super::kernel::Kernel;
use super::super::machine_file::VirtualMachine;
use super::super::process::Process;
use super::error::VirtualTimeError;
use super::extras::Extras;
use super::{arguments, shared_memory, steady};
use archive::settings::RunSettings;
use protocol::guest::{VIRTUAL_TIME_FILE, VirtualTimePlan};
use std::fs;
use std::path::{Path, PathBuf};

/// Padding of the meter's file and the plan to a multiple of this. The sizes of both determine which memory the kernel
/// has left, so a longer plan must not change them.
const METER_STEP_BYTES: usize = 4 << 20;
const PLAN_STEP_BYTES: usize = 4 << 10;

/// Everything except the settings, which come last.
#[derive(Debug, Clone)]
pub struct Boot {
    pub program: PathBuf,
    pub machine: VirtualMachine,
    pub kernel: Kernel,
    pub meter: Vec<u8>,
    pub hostname: String,
    /// The user's files, in the guest from the start.
    pub sent: Vec<SentFile>,
    /// Private directory for files of QEMU.
    pub scratch: PathBuf,
    pub extras: Extras,
}

impl Boot {
    /// Starts QEMU with a guest that measures with these settings.
    ///
    /// # Errors
    /// [`VirtualTimeError`].
    pub fn start(&self, settings: RunSettings) -> Result<Process, VirtualTimeError> {
        let plan = VirtualTimePlan {
            hostname: self.hostname.clone(),
            start_ns: i64::from(self.machine.start_seconds) * 1_000_000_000,
            settings,
            symbols: self.extras.symbols,
        };
        shared_memory::check_room(&plan.settings)?;
        let mut data = serde_json::to_vec(&plan).expect("a plan has only string keys");
        data.resize(data.len().next_multiple_of(PLAN_STEP_BYTES), b' ');
        let mut meter = self.meter.clone();
        meter.resize(meter.len().next_multiple_of(METER_STEP_BYTES), 0);
        let mut sent = self.sent.clone();
        sent.push(SentFile { path: Path::new("/").join(VIRTUAL_TIME_FILE), executable: false, data });
        let initramfs = self.scratch.join("initramfs");
        fs::write(&initramfs, initramfs::build(&meter, &self.kernel, &sent)?)
            .map_err(FileError::writing(&initramfs))?;
        shared_memory::make_files(&self.scratch).map_err(VirtualTimeError::SharedMemory)?;
        // The output of an earlier boot must not be mistaken for this one's.
        let _ = fs::remove_file(self.scratch.join(arguments::CONSOLE_FILE));
        let words = arguments::arguments(&self.machine, &self.kernel.image, &initramfs, &self.scratch, &self.extras);
        Ok(Process::start(&self.program, &words, steady::bind)?)
    }
}
