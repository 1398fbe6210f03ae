//! Boards: machines not managed by tardy, on which it must leave nothing behind.
//!
//! [`board_file`] defines a board's target file, `ssh` and `serial` connect to it; docs/how-to/boards.md describes what
//! happens there.

pub mod board_file;
mod connection;
pub mod error;
mod full_disk;
pub(crate) mod hooks;
mod line;
pub(crate) mod lock;
mod openssh;
pub mod problem;
mod reach;
mod serial;
mod session;
mod shell;
mod spooled;
mod ssh;
mod target;
mod traffic;

#[cfg(fuzzing)]
pub use serial::fuzzing;
pub use session::Purpose;
pub(crate) use shell::quoted;
pub use target::BoardTarget;

use crate::architecture::Architecture;
use crate::meter_places::MeterPlaces;
use error::MeterCopyError;
use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

/// How to get access to a board.
#[derive(Debug, Clone)]
pub struct AccessOptions {
    pub purpose: Purpose,
    /// How long another user may take to release it.
    pub wait: Duration,
    /// New software for the board before it is used: the argument of the deploy hook, possibly empty.
    pub deploy: Option<String>,
    /// Description of this user for others.
    pub who: String,
    /// Reports what the host is waiting for.
    pub report: fn(&str),
}

impl Default for AccessOptions {
    fn default() -> Self {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let user = std::env::var("USER").unwrap_or_else(|_| "unknown user".into());
        Self {
            purpose: Purpose::Run,
            wait: Duration::ZERO,
            deploy: None,
            who: format!("{user}@{} (process {})", host.trim(), std::process::id()),
            report: |_| {},
        }
    }
}

/// The meter for a board, under a unique name.
struct MeterCopy {
    name: String,
    bytes: Vec<u8>,
}

impl MeterCopy {
    /// The meter for an output of `uname -m`.
    fn find(places: &MeterPlaces, machine: &str) -> Result<Self, MeterCopyError> {
        // How a 64-bit processor identifies itself to 32-bit programs.
        let machine = if machine == "armv8l" { "armv7l" } else { machine };
        let architecture: Architecture = machine.parse().map_err(MeterCopyError::from)?;
        let path = places.find_for(architecture)?;
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(source) => return Err(MeterCopyError::Unreadable { path, source }),
        };
        let name = format!("meter-{}", hex(&Sha256::digest(&bytes)[..8]));
        Ok(Self { name, bytes })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn is_executable(path: &Path) -> io::Result<bool> {
    Ok(fs::metadata(path)?.permissions().mode() & 0o111 != 0)
}
