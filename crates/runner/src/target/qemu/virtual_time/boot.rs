//! What a boot in virtual time consists of, and QEMU for it.

use super::super::file::VirtualMachine;
use super::super::initramfs::{self, SentFile};
use super::super::kernel::Kernel;
use super::super::process::Process;
use super::{arguments, steady};
use archive::guest::{VIRTUAL_TIME_FILE, VirtualTimePlan};
use archive::settings::RunSettings;
use std::fs;
use std::path::{Path, PathBuf};

/// Everything but the settings, which come last.
#[derive(Debug, Clone)]
pub struct Boot {
    pub program: PathBuf,
    pub machine: VirtualMachine,
    pub kernel: Kernel,
    pub meter: Vec<u8>,
    pub hostname: String,
    /// Directory for what QEMU reads and writes; ours alone.
    pub scratch: PathBuf,
}

impl Boot {
    /// Starts QEMU with a guest that measures with these settings.
    ///
    /// # Errors
    /// A sentence.
    pub fn start(&self, settings: RunSettings) -> Result<Process, String> {
        let plan = VirtualTimePlan {
            hostname: self.hostname.clone(),
            start_ns: i64::from(self.machine.start_seconds) * 1_000_000_000,
            settings,
            symbols: false,
        };
        let data = serde_json::to_vec(&plan).expect("a plan has only string keys");
        let sent = [SentFile { path: Path::new("/").join(VIRTUAL_TIME_FILE), executable: false, data }];
        let initramfs = self.scratch.join("initramfs");
        fs::write(&initramfs, initramfs::build(&self.meter, &self.kernel, &sent)?)
            .map_err(|error| format!("failed to write {}: {error}", initramfs.display()))?;
        // QEMU appends to none of them, but one that it has not opened yet must not be taken for this boot's.
        for name in [arguments::CONSOLE_FILE, arguments::STREAM_FILE, arguments::SYMBOLS_FILE] {
            let _ = fs::remove_file(self.scratch.join(name));
        }
        let words = arguments::arguments(&self.machine, &self.kernel.image, &initramfs, &self.scratch);
        Process::start(&self.program, &words, steady::bind)
    }
}
