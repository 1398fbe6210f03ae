//! The memory in which an intercepted program leaves its calls, and what the program needs to find it.

use anyhow::Context;
use call_ring::function::Recorded;
use call_ring::header::{Injection, MAGIC, RULE_BYTES, at};
use call_ring::{MEMORY_BYTES, MEMORY_NAME, MEMORY_VARIABLE};
use machines::library::INTERCEPTION;
use rustix::fs::{MemfdFlags, Mode, SealFlags, fchmod, fcntl_add_seals, memfd_create};
use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

const PRELOAD: &str = "LD_PRELOAD";

/// The memory. It has no name in a file system, and is gone with the last process that has it.
pub struct CallMemory {
    file: File,
    preloaded: PathBuf,
}

impl CallMemory {
    /// Creates it, for this user only and of a size that nobody can change, with the rules of injection and the threads whose calls
    /// of the C library are recorded.
    ///
    /// # Errors
    /// If the library is not found, or the kernel gives no such memory.
    pub fn create(injections: &[Injection], library_calls: Option<Recorded>) -> anyhow::Result<Self> {
        let preloaded = INTERCEPTION.find()?;
        let create = || -> std::io::Result<File> {
            let file = File::from(memfd_create(MEMORY_NAME, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
            fchmod(&file, Mode::RUSR | Mode::WUSR)?;
            file.set_len(MEMORY_BYTES as u64)?;
            fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
            file.write_all_at(&MAGIC.to_le_bytes(), at::MAGIC as u64)?;
            let recorded = library_calls.map_or(0, |recorded| recorded as u32);
            file.write_all_at(&recorded.to_le_bytes(), at::LIBRARY_CALLS as u64)?;
            let count = u32::try_from(injections.len()).unwrap_or(u32::MAX);
            file.write_all_at(&count.to_le_bytes(), at::RULES as u64)?;
            for (index, injection) in injections.iter().enumerate() {
                file.write_all_at(&injection.bytes(), (at::RULE + index * RULE_BYTES) as u64)?;
            }
            Ok(file)
        };
        let file = create().context("failed to create the memory for the program's calls")?;
        Ok(Self { file, preloaded })
    }

    /// Where the meter and the program find it.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// The variables that have the program load the library.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let mut preload = self.preloaded.clone().into_os_string();
        if let Some(others) = env::var_os(PRELOAD).filter(|others| !others.is_empty()) {
            preload.push(":");
            preload.push(others);
        }
        vec![(PRELOAD, preload), (MEMORY_VARIABLE, self.path().into())]
    }
}
