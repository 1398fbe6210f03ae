//! A machine under test, as far as a run needs it: files go there, a command runs there with a byte stream.
//!
//! A backend knows nothing of runs, frames or phases.

use crate::board::error::BoardError;
use crate::labgrid::error::LabgridError;
use crate::problem::{Caveat, News};
use crate::qemu::error::{BootError, PrepareError, VirtualMachineError};
use crate::qemu::virtual_time::error::VirtualTimeError;
use archive::absence::SpikeAbsences;
use archive::message::Problem;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// What a target could not do, and why, by the kind of machine.
#[derive(Debug, Error)]
pub enum Reason {
    #[error(transparent)]
    Board(#[from] Box<BoardError>),
    #[error(transparent)]
    Labgrid(#[from] Box<LabgridError>),
    #[error(transparent)]
    VirtualMachine(#[from] Box<VirtualMachineError>),
    #[error("it keeps nothing")]
    KeepsNothing,
    /// A fake one, in tests.
    #[error("{0}")]
    Fake(String),
}

impl From<BoardError> for Reason {
    fn from(error: BoardError) -> Self {
        Self::Board(Box::new(error))
    }
}

impl From<LabgridError> for Reason {
    fn from(error: LabgridError) -> Self {
        Self::Labgrid(Box::new(error))
    }
}

impl From<PrepareError> for Reason {
    fn from(error: PrepareError) -> Self {
        Self::VirtualMachine(Box::new(error.into()))
    }
}

impl From<BootError> for Reason {
    fn from(error: BootError) -> Self {
        Self::VirtualMachine(Box::new(error.into()))
    }
}

impl From<VirtualTimeError> for Reason {
    fn from(error: VirtualTimeError) -> Self {
        Self::VirtualMachine(Box::new(error.into()))
    }
}

/// Why a target could not do what was asked.
#[derive(Debug, Error)]
pub enum TargetError {
    #[error("failed to prepare target {target}: {why}")]
    Prepare { target: String, why: Reason },
    #[error("failed to start {program} on target {target}: {source}")]
    Start { target: String, program: PathBuf, source: io::Error },
    #[error("failed to boot target {target}: {why}")]
    Boot { target: String, why: Reason },
    /// Stopped on request before there was anything to stop.
    #[error("stopped on request while target {target} booted")]
    Stopped { target: String },
    #[error("failed to fetch a run from target {target}: {why}")]
    TakeUp { target: String, why: Reason },
    /// The target has nothing of the run, and never will again.
    #[error("failed to fetch a run from target {target}: {why}")]
    Gone { target: String, why: Reason },
    #[error("failed to copy {from} to {to} (target {target}): {source}")]
    Copy { target: String, from: PathBuf, to: PathBuf, source: io::Error },
    #[error("failed to give back target {target}: {why}")]
    GiveBack { target: String, why: Reason },
}

/// A program with its arguments. No shell is in between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub program: PathBuf,
    pub arguments: Vec<String>,
}

/// What a read brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    Bytes(Vec<u8>),
    /// Nothing within the time given.
    Quiet,
    /// The command closed its output: it ended, or the link is gone.
    Closed,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// The machine it ran on went down before it had ended.
    MachineDown,
    /// The host ended it when it was asked to stop, because it cannot be told.
    Ended,
}

impl fmt::Display for Exit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(out, "exit status {code}"),
            Self::Signal(signal) => write!(out, "killed by signal {signal}"),
            Self::MachineDown => out.write_str("the machine went down"),
            Self::Ended => out.write_str("ended by the host"),
        }
    }
}

/// A machine under test.
pub trait Target {
    /// Name in archives and messages.
    fn name(&self) -> &str;

    /// Makes the target ready for files and commands.
    ///
    /// # Errors
    /// [`TargetError::Prepare`], or [`TargetError::Gone`] where a run is to be taken up.
    fn prepare(&mut self) -> Result<(), TargetError>;

    /// Copies a file of the host to the target.
    ///
    /// # Errors
    /// [`TargetError::Copy`].
    fn send_file(&mut self, from: &Path, to: &Path) -> Result<(), TargetError>;

    /// What the target is made of, by name, as far as a run there depends on nothing else: two runs with the same
    /// ingredients and the same settings must be identical. Empty where that cannot be promised.
    fn ingredients(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Starts a command there.
    ///
    /// # Errors
    /// [`TargetError::Start`], and what a target has to go through before it can start one.
    fn start(&mut self, command: &Command) -> Result<Box<dyn RunningCommand>, TargetError>;

    /// Starts a command with this input that is to reach its end even when the line does not last. Where a target
    /// [keeps its output](Self::keeps_output), the rest is had with [`Self::take_up`] under this id.
    ///
    /// # Errors
    /// As [`Self::start`].
    fn start_lasting(
        &mut self,
        command: &Command,
        input: &[u8],
        id: &str,
    ) -> Result<Box<dyn RunningCommand>, TargetError> {
        let _ = id;
        let mut running = self.start(command)?;
        // A command that does not listen has ended or is about to; its end tells why.
        let _ = running.write(input);
        Ok(running)
    }

    /// Whether what a lasting command says is kept on the target until the host has it.
    fn keeps_output(&self) -> bool {
        false
    }

    /// Goes on with a lasting command, whether it still runs or not, from this byte of its output on.
    ///
    /// # Errors
    /// [`TargetError::TakeUp`].
    fn take_up(&mut self, id: &str, from: u64) -> Result<Box<dyn RunningCommand>, TargetError> {
        let _ = (id, from);
        Err(TargetError::TakeUp { target: self.name().into(), why: Reason::KeepsNothing })
    }

    /// What is kept of the last lasting command can go: the host has it all, safely.
    fn let_go(&mut self) {}

    /// Copies a file of the target to the host.
    ///
    /// # Errors
    /// [`TargetError::Copy`].
    fn fetch_file(&mut self, from: &Path, to: &Path) -> Result<(), TargetError>;

    /// What the machine's console said so far, where it is listened to; bounded.
    fn console(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Whether nothing that a command changes there outlives it.
    fn forgets(&self) -> bool {
        false
    }

    /// How many times longer things may take there than on a machine of their own, by the host's clock.
    fn slowdown(&self) -> u32 {
        1
    }

    /// What holds for every number of this target, known once it is prepared.
    fn caveat(&self) -> Option<Caveat> {
        None
    }

    /// What starting the last command brought that belongs beside its numbers; told once.
    fn notices(&mut self) -> Vec<Problem> {
        Vec::new()
    }

    /// Gives the target back.
    ///
    /// # Errors
    /// Whatever giving back needs; the run is archived by then.
    fn close(&mut self) -> Result<(), TargetError>;
}

/// What is known, outside of a target, of when its CPUs were not executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outside {
    /// Ask again later.
    Later,
    /// Nobody looked.
    Unknown,
    /// Of the spike with number 0.
    Seen(SpikeAbsences),
}

/// A command under way on a target.
pub trait RunningCommand {
    /// Writes to its standard input.
    ///
    /// # Errors
    /// When the command no longer listens.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Waits for output, no longer than `wait`.
    fn read(&mut self, wait: Duration) -> Output;

    /// The last lines of its standard error so far, oldest first, bounded in number and length.
    fn diagnostics(&mut self) -> Vec<String>;

    /// The lines it wrote beside its output since the last call, where they go nowhere else.
    fn said(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// So many bytes of its output are safe on the host; they need not be kept elsewhere.
    fn stored(&mut self, bytes: u64) {
        let _ = bytes;
    }

    /// What happened to the line since the last call.
    fn news(&mut self) -> Vec<News> {
        Vec::new()
    }

    /// When the CPUs it ran on were not executed, in a stretch of the target's CLOCK_MONOTONIC. `last`: there will be no
    /// later call.
    fn outside(&mut self, from_ns: i64, to_ns: i64, last: bool) -> Outside {
        let _ = (from_ns, to_ns, last);
        Outside::Unknown
    }

    /// Whether it goes on, or has ended, where the line no longer reaches: its output can be taken up later.
    fn left_behind(&self) -> bool {
        false
    }

    /// Ends it at once; what it changed stays changed.
    fn kill(&mut self);

    /// Closes its input and waits for its end; `None` when it has not ended by then.
    fn wait(&mut self, limit: Duration) -> Option<Exit>;

    /// Time since it was started, as the host counts it.
    fn elapsed(&self) -> Duration;
}
