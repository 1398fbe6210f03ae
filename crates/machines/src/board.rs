//! Boards: machines that are there without us, and on which nothing of us must stay.
//!
//! [`board_file`] is what is written about one, `ssh` and `serial` are the ways to it; docs/how-to/boards.md says what happens there.

pub mod board_file;
pub mod error;
pub(crate) mod hooks;
mod keeper;
mod line;
pub(crate) mod lock;
mod openssh;
mod reach;
mod serial;
mod shell;
mod spooled;
mod ssh;
mod target;
mod traffic;

pub use keeper::Purpose;
#[cfg(fuzzing)]
pub use serial::fuzzing;
pub(crate) use shell::quoted;
pub use target::BoardTarget;
pub use traffic::ConsoleDamage;

use crate::architecture::Architecture;
use crate::meter_places::MeterPlaces;
use error::MeterCopyError;
use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

/// How a board is to be had.
#[derive(Debug, Clone)]
pub struct AccessOptions {
    pub purpose: Purpose,
    /// How long somebody else may take to give it back.
    pub wait: Duration,
    /// New software for the board before it is used: what the hook is to deploy, which may be empty.
    pub deploy: Option<String>,
    /// Who we are, in words for others.
    pub who: String,
    /// Says what is being waited for.
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

/// The meter for a board, under a name that no other meter has.
struct MeterCopy {
    name: String,
    bytes: Vec<u8>,
}

impl MeterCopy {
    /// The one for what `uname -m` says.
    fn find(places: &MeterPlaces, machine: &str) -> Result<Self, MeterCopyError> {
        // What a 64-bit processor calls itself to 32-bit programs.
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
