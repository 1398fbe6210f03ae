//! Why an operation on a machine in virtual time failed.

use super::super::error::{GuestPathError, NotStarted, PrepareError};
use super::super::file_error::FileError;
use crate::target::Reason;
use archive::problem::Definition;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Failures of QEMU's debugger interface.
#[derive(Debug, Error)]
pub enum DebuggerError {
    #[error("failed to ask QEMU's debugger interface: {0}")]
    Line(#[from] io::Error),
    #[error("unexpected answer of QEMU for the registers: {answer:.100}")]
    Registers { answer: String },
    #[error("QEMU does not step with interrupts: {answer:.100}")]
    Steps { answer: String },
}

/// A measurement whose samples exceed the memory that the guest shares with the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "{samples} samples are more than the {samples_max} that a guest in virtual time can hand over: measure for a shorter \
     time, or at a longer interval"
)]
pub struct TooManySamples {
    pub samples: u64,
    pub samples_max: u64,
}

/// Why an operation on a machine in virtual time failed.
#[derive(Debug, Error)]
pub enum VirtualTimeError {
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    #[error("the machine has not been prepared")]
    NotPrepared,
    #[error("a machine in virtual time runs measurements only")]
    NotMeasuring,
    #[error(transparent)]
    TooManySamples(#[from] TooManySamples),
    #[error(transparent)]
    Path(#[from] GuestPathError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("failed to make the files of the guest's shared memory: {0}")]
    SharedMemory(io::Error),
    #[error(transparent)]
    NotStarted(#[from] NotStarted),
    #[error("stopped on request")]
    Stopped,
    #[error("the guest did not end")]
    Endless,
    #[error("the guest reported no function names of its kernel: {}", lines.join(" | "))]
    NoSymbols { lines: Vec<String> },
    #[error("the emulator ended before that instant: {}", lines.join(" | "))]
    EndedBefore { lines: Vec<String> },
    #[error(
        "the debugger's socket {} has a name of more than the {bytes_max} bytes that the kernel takes; set TMPDIR to a \
         directory with a shorter one",
        socket.display()
    )]
    SocketName { socket: PathBuf, bytes_max: usize },
    #[error(transparent)]
    Debugger(#[from] DebuggerError),
}

impl Reason for VirtualTimeError {
    fn definition(&self) -> Option<Definition> {
        if let Self::Prepare(error) = self { error.definition() } else { None }
    }
}
