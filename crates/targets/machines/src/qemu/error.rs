//! Why a virtual machine cannot be used, by the failed step.

use super::file_error::FileError;
use super::kernel_error::KernelError;
use super::saved_state::error::StateError;
use crate::architecture::Architecture;
use crate::target::Reason;
use archive::problem::Definition;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;
use thiserror::Error;

/// A path that is not valid in the guest.
#[derive(Debug, Error)]
#[error("{} is not an absolute path without dots", .0.display())]
pub struct GuestPathError(pub PathBuf);

/// QEMU could not be started.
#[derive(Debug, Error)]
#[error("failed to start {}: {source}", program.display())]
pub struct NotStarted {
    pub program: PathBuf,
    pub source: io::Error,
}

/// Why a machine cannot be prepared for booting.
#[derive(Debug, Error)]
pub enum PrepareError {
    #[error(
        "{} is not installed; on Debian it comes with `apt-get install {package}`", program.display()
    )]
    NoProgram { program: PathBuf, package: &'static str },
    #[error(transparent)]
    Kernel(#[from] KernelError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{} needs libraries, and the guest has none; `make build` makes a static meter", meter.display())]
    MeterNotStatic { meter: PathBuf },
    #[error("{} is for {found}, and the guest is {wanted}", meter.display())]
    MeterArchitecture { meter: PathBuf, found: Architecture, wanted: Architecture },
    #[error("failed to make a directory for the machine: {0}")]
    NoScratch(io::Error),
    #[error("failed to read {}: {source}; correct `start_programs` in the target file", path.display())]
    StartProgram { path: PathBuf, source: io::Error },
}

/// The end of a console, appended to a sentence.
#[derive(Debug, Default)]
pub struct Quote(pub Vec<String>);

impl fmt::Display for Quote {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(out, "; the end of its console: {}", self.0.join(" | ")) }
    }
}

fn complaints(lines: &[String]) -> String {
    if lines.is_empty() { "before the guest had booted".into() } else { lines.join(" | ") }
}

/// Why a machine did not boot.
#[derive(Debug, Error)]
pub enum BootError {
    #[error("the machine has not been prepared")]
    NotPrepared,
    #[error("failed to listen at {}: {source}; a shorter TMPDIR may help", path.display())]
    NoSocket { path: PathBuf, source: io::Error },
    #[error(transparent)]
    NotStarted(#[from] NotStarted),
    #[error("failed to use a connection to QEMU: {0}")]
    Line(io::Error),
    #[error("QEMU ended ({status}): {}{console}", complaints(lines))]
    Ended { status: ExitStatus, lines: Vec<String>, console: Quote },
    #[error("stopped on request while the machine booted")]
    Stopped,
    #[error("the machine did not boot within {} s{console}", limit.as_secs())]
    TooLong { limit: Duration, console: Quote },
    /// In the words of the guest.
    #[error("{0}")]
    Guest(String),
    #[error("the connection to the guest ended after booting: {0}")]
    WentAway(io::Error),
    #[error("the guest refused {value} for {path} ({source}); correct `settings` in the target file")]
    Setting { path: String, value: String, source: io::Error },
    #[error("the machine did not answer after loading: {0}")]
    NoAnswer(io::Error),
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Path(#[from] GuestPathError),
}

/// Why the execution of a machine's processors cannot be watched.
#[derive(Debug, Error)]
pub enum WatchError {
    #[error("the emulator has no threads that are named after virtual CPUs")]
    NoThreads,
    #[error("the host's kernel does not count how its threads are scheduled (/proc/PID/schedstat)")]
    NotCounted,
    #[error("failed to start a thread: {0}")]
    NoThread(io::Error),
    #[error("failed to share a line to the machine: {0}")]
    Line(io::Error),
}

impl Reason for PrepareError {
    fn definition(&self) -> Option<Definition> {
        match self {
            Self::NoProgram { .. } => Some(NO_QEMU),
            Self::Kernel(_) => Some(NO_KERNEL),
            Self::MeterNotStatic { .. } | Self::MeterArchitecture { .. } => Some(METER_UNFIT),
            Self::File(_) | Self::NoScratch(_) | Self::StartProgram { .. } => None,
        }
    }
}

impl Reason for BootError {
    fn definition(&self) -> Option<Definition> {
        match self {
            Self::TooLong { .. } => Some(BOOT_TOO_LONG),
            Self::Ended { .. } => Some(QEMU_ENDED),
            Self::Guest(_) => Some(GUEST_FAILED),
            Self::NotPrepared
            | Self::NoSocket { .. }
            | Self::NotStarted(_)
            | Self::Line(_)
            | Self::Stopped
            | Self::WentAway(_)
            | Self::Setting { .. }
            | Self::NoAnswer(_)
            | Self::State(_)
            | Self::File(_)
            | Self::Path(_) => None,
        }
    }
}

const NO_QEMU: Definition = Definition {
    code: "machine.no-qemu",
    meaning: "QEMU for the guest's architecture is not installed.",
    fix: "Install the package that the message names, or set `qemu` in the target file.",
};
const NO_KERNEL: Definition = Definition {
    code: "machine.no-kernel",
    meaning: "The kernel of the virtual machine, or a module it needs, is missing or cannot be used.",
    fix: "`tardy target add --force` with the same words downloads the kernel; the message names the file at fault.",
};
const METER_UNFIT: Definition = Definition {
    code: "machine.meter-unfit",
    meaning: "The tardy-meter cannot run in the guest: it needs libraries, or is for another architecture.",
    fix: "`make build` makes a static meter, `make meters` those for other architectures.",
};
const BOOT_TOO_LONG: Definition = Definition {
    code: "machine.boot-too-long",
    meaning: "The virtual machine did not boot within `boot_seconds` of its target file.",
    fix: "Read the end of its console in the message; `boot_seconds` gives a slow machine more time.",
};
const QEMU_ENDED: Definition = Definition {
    code: "machine.qemu-ended",
    meaning: "QEMU ended before its guest had booted.",
    fix: "The message quotes QEMU; check `qemu_arguments`, memory and accelerator in the target file.",
};
const GUEST_FAILED: Definition = Definition {
    code: "machine.guest-failed",
    meaning: "The guest booted and could not start measuring.",
    fix: "The message quotes the guest; a kernel of your own needs virtio_pci and virtio_console.",
};

/// Every code of this file.
pub const DEFINITIONS: &[Definition] = &[NO_QEMU, NO_KERNEL, METER_UNFIT, BOOT_TOO_LONG, QEMU_ENDED, GUEST_FAILED];
