//! Why a virtual machine cannot be used, by the failed step.

use super::kernel::KernelError;
use super::saved_state::error::StateError;
use super::virtual_time::error::VirtualTimeError;
use crate::architecture::Architecture;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;
use thiserror::Error;

/// A file or directory of the host that could not be used.
#[derive(Debug, Error)]
#[error("failed to {act} {}: {source}", path.display())]
pub struct FileError {
    /// The failed operation, such as `read`.
    pub act: &'static str,
    pub path: PathBuf,
    pub source: io::Error,
}

impl FileError {
    /// Wraps an error of reading this file.
    pub fn reading(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        Self::of("read", path)
    }

    /// Wraps an error of writing this file.
    pub fn writing(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        Self::of("write", path)
    }

    /// Wraps an error of another operation on this file.
    pub fn of(act: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self { act, path, source }
    }
}

/// A path that is not valid in the guest.
#[derive(Debug, Error)]
#[error("{} is no absolute path without dots", .0.display())]
pub struct GuestPathError(pub PathBuf);

/// QEMU could not be started.
#[derive(Debug, Error)]
#[error("failed to start {}: {source}", program.display())]
pub struct NotStarted {
    pub program: PathBuf,
    pub source: io::Error,
}

/// What is missing before a machine can boot.
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
    #[error("{} needs libraries, and the guest has none; `make build` makes a static one", meter.display())]
    MeterNotStatic { meter: PathBuf },
    #[error("{} is for {found}, and the guest is {wanted}", meter.display())]
    MeterArchitecture { meter: PathBuf, found: Architecture, wanted: Architecture },
    #[error("failed to make a directory for the machine: {0}")]
    NoScratch(io::Error),
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
    #[error("it has not been prepared")]
    NotPrepared,
    #[error("failed to listen at {}: {source}; a shorter TMPDIR may help", path.display())]
    NoSocket { path: PathBuf, source: io::Error },
    #[error(transparent)]
    NotStarted(#[from] NotStarted),
    #[error("failed to use a line of QEMU: {0}")]
    Line(io::Error),
    #[error("QEMU ended ({status}): {}{console}", complaints(lines))]
    Ended { status: ExitStatus, lines: Vec<String>, console: Quote },
    #[error("stopped on request while it booted")]
    Stopped,
    #[error("it did not boot within {} s{console}", limit.as_secs())]
    TooLong { limit: Duration, console: Quote },
    /// In the words of the guest.
    #[error("{0}")]
    Guest(String),
    #[error("it went away after booting: {0}")]
    WentAway(io::Error),
    #[error("the machine does not answer after loading: {0}")]
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

/// Why a virtual machine cannot be used.
#[derive(Debug, Error)]
pub enum VirtualMachineError {
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    #[error(transparent)]
    Boot(#[from] BootError),
    #[error(transparent)]
    VirtualTime(#[from] VirtualTimeError),
}
