//! The interface of a machine under test: copying files to it, and running a command there with a byte stream.
//!
//! A backend knows nothing about runs, frames or phases.

use crate::caveat::Caveat;
use crate::machine_event::MachineEvent;
use archive::absence::SpikeAbsences;
use archive::message::Problem;
use archive::problem::{Code, Definition, ProblemKind};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// Why a backend could not do something: an error of its own, with a code of its own where it has one.
pub trait Reason: std::error::Error + Send + Sync + 'static {
    /// The problem, if it is more specific than that the target could not do it.
    fn definition(&self) -> Option<Definition> {
        None
    }
}

impl<E: Reason> From<E> for Box<dyn Reason> {
    fn from(error: E) -> Self {
        Box::new(error)
    }
}

/// The output of a command was requested, and this target does not keep it.
#[derive(Debug, Error)]
#[error("the target keeps no output")]
struct KeepsNothing;

impl Reason for KeepsNothing {}

/// Why a target did not do what was requested.
#[derive(Debug, Error)]
pub enum TargetError {
    #[error("failed to prepare target {target}: {why}")]
    Prepare { target: String, why: Box<dyn Reason> },
    #[error("failed to start {program} on target {target}: {source}")]
    Start { target: String, program: PathBuf, source: io::Error },
    #[error("failed to boot target {target}: {why}")]
    Boot { target: String, why: Box<dyn Reason> },
    /// Stopped on request before a command was started.
    #[error("stopped on request while target {target} booted")]
    Stopped { target: String },
    #[error("failed to fetch a run from target {target}: {why}")]
    Collect { target: String, why: Box<dyn Reason> },
    /// The target has nothing of the run, and will not get it again.
    #[error("failed to fetch a run from target {target}: {why}")]
    Gone { target: String, why: Box<dyn Reason> },
    #[error("failed to copy {from} to {to} (target {target}): {source}")]
    Copy { target: String, from: PathBuf, to: PathBuf, source: io::Error },
    #[error("failed to give back target {target}: {why}")]
    GiveBack { target: String, why: Box<dyn Reason> },
}

impl ProblemKind for TargetError {
    fn code(&self) -> Code {
        let definition = match self {
            Self::Prepare { why, .. } => why.definition().unwrap_or(NOT_PREPARED),
            Self::Start { .. } => NOT_STARTED,
            Self::Boot { why, .. } => why.definition().unwrap_or(NOT_BOOTED),
            Self::Stopped { .. } => STOPPED_WHILE_BOOTING,
            Self::Collect { .. } => NOT_FETCHED,
            Self::Gone { .. } => NOTHING_KEPT,
            Self::Copy { .. } => NOT_COPIED,
            Self::GiveBack { .. } => NOT_GIVEN_BACK,
        };
        Code::new(definition.code)
    }
}

const NOT_PREPARED: Definition = Definition {
    code: "machine.not-prepared",
    meaning: "The machine could not be made ready for files and commands.",
    fix: "Follow the message: it names the host, login, file or program at fault.",
};
const NOT_STARTED: Definition = Definition {
    code: "machine.not-started",
    meaning: "A program could not be started on the machine.",
    fix: "Follow the message.",
};
const NOT_BOOTED: Definition = Definition {
    code: "machine.not-booted",
    meaning: "The machine did not boot.",
    fix: "Read console.log in the archive; `boot_seconds` in the target file gives a slow machine more time.",
};
const STOPPED_WHILE_BOOTING: Definition = Definition {
    code: "machine.stopped-while-booting",
    meaning: "The run was stopped on request before the machine had booted.",
    fix: "Nothing needs fixing.",
};
const NOT_FETCHED: Definition = Definition {
    code: "machine.not-fetched",
    meaning: "The results that the machine keeps could not be fetched.",
    fix: "Try `tardy target collect` again when the machine can be reached.",
};
const NOTHING_KEPT: Definition = Definition {
    code: "machine.nothing-kept",
    meaning: "The machine has no data for this run: already fetched, discarded, or lost in a reboot.",
    fix: "Nothing needs fixing.",
};
const NOT_COPIED: Definition = Definition {
    code: "machine.not-copied",
    meaning: "A file could not be copied to or from the machine.",
    fix: "Follow the message.",
};
const NOT_GIVEN_BACK: Definition = Definition {
    code: "machine.not-given-back",
    meaning: "The run is archived, but the machine could not be given back.",
    fix: "Follow the message; `labgrid-client release` gives a place back by hand.",
};

/// Every code of this file.
pub const DEFINITIONS: &[Definition] = &[
    NOT_PREPARED,
    NOT_STARTED,
    NOT_BOOTED,
    STOPPED_WHILE_BOOTING,
    NOT_FETCHED,
    NOTHING_KEPT,
    NOT_COPIED,
    NOT_GIVEN_BACK,
];

/// A program with its arguments, run without a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub program: PathBuf,
    pub arguments: Vec<String>,
}

/// Result of a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    Bytes(Vec<u8>),
    /// No output within the time limit.
    Quiet,
    /// The command closed its output: it ended, or the connection is gone.
    Closed,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// The machine went down before the command had ended.
    MachineDown,
    /// The host ended it on a stop request, because it accepts none itself.
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

    /// Prepares the target for files and commands.
    ///
    /// # Errors
    /// [`TargetError::Prepare`], or [`TargetError::Gone`] if the output of a run is to be collected.
    fn prepare(&mut self) -> Result<(), TargetError>;

    /// Copies a file of the host to the target.
    ///
    /// # Errors
    /// [`TargetError::Copy`].
    fn send_file(&mut self, from: &Path, to: &Path) -> Result<(), TargetError>;

    /// The ingredients of the target, by name, if a run depends on nothing else: two runs with the same ingredients and
    /// the same settings must be identical. Empty if that cannot be guaranteed.
    fn ingredients(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Starts a command there.
    ///
    /// # Errors
    /// [`TargetError::Start`], and errors of what must precede a start.
    fn start(&mut self, command: &Command) -> Result<Box<dyn RunningCommand>, TargetError>;

    /// Starts a command with this input that must reach its end even if the connection is lost. If a target [keeps its
    /// output](Self::keeps_output), [`Self::resume`] returns the rest under this id.
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
        // A command that does not read its input has ended or is about to; its exit shows why.
        let _ = running.write(input);
        Ok(running)
    }

    /// Whether the target keeps the output of a lasting command until the host has it.
    fn keeps_output(&self) -> bool {
        false
    }

    /// Resumes the output of a lasting command, running or ended, from this byte on.
    ///
    /// # Errors
    /// [`TargetError::Collect`].
    fn resume(&mut self, id: &str, from: u64) -> Result<Box<dyn RunningCommand>, TargetError> {
        let _ = (id, from);
        Err(TargetError::Collect { target: self.name().into(), why: KeepsNothing.into() })
    }

    /// Releases the kept output of the last lasting command: the host has stored all of it.
    fn release_output(&mut self) {}

    /// Copies a file of the target to the host.
    ///
    /// # Errors
    /// [`TargetError::Copy`].
    fn fetch_file(&mut self, from: &Path, to: &Path) -> Result<(), TargetError>;

    /// The console output so far, if it is recorded; bounded.
    fn console(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Whether its CPUs are this machine's: work of the host disturbs what runs there.
    fn is_this_machine(&self) -> bool {
        false
    }

    /// Whether no change of a command there outlives it.
    fn forgets(&self) -> bool {
        false
    }

    /// Factor by which things may take longer there than on a physical machine, by the host's clock.
    fn slowdown(&self) -> u32 {
        1
    }

    /// A caveat about all figures of this target, known once it is prepared.
    fn caveat(&self) -> Option<Caveat> {
        None
    }

    /// Problems of starting the last command that belong beside its figures; returned once.
    fn notices(&mut self) -> Vec<Problem> {
        Vec::new()
    }

    /// Releases the target.
    ///
    /// # Errors
    /// [`TargetError`]; the run is archived by then.
    fn close(&mut self) -> Result<(), TargetError>;
}

/// Absences of a target's CPUs, as far as its host recorded them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outside {
    /// Ask again later.
    Later,
    /// Nothing was recorded.
    Unknown,
    /// Absences with spike number 0.
    Seen(SpikeAbsences),
}

/// A running command on a target.
pub trait RunningCommand {
    /// Writes to its standard input.
    ///
    /// # Errors
    /// If the command no longer reads.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Waits for output, at most `wait`.
    fn read(&mut self, wait: Duration) -> Output;

    /// The last lines of its standard error so far, oldest first, bounded in number and length.
    fn diagnostics(&mut self) -> Vec<String>;

    /// The lines it wrote since the last call in addition to its output, if they go nowhere else.
    fn lines(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// The first `bytes` bytes of its output are stored on the host and need not be kept elsewhere.
    fn stored(&mut self, bytes: u64) {
        let _ = bytes;
    }

    /// Events of the connection since the last call.
    fn events(&mut self) -> Vec<MachineEvent> {
        Vec::new()
    }

    /// When the CPUs it ran on were not executed, in a stretch of the target's CLOCK_MONOTONIC. `last`: there will be
    /// no later call.
    fn outside(&mut self, from_ns: i64, to_ns: i64, last: bool) -> Outside {
        let _ = (from_ns, to_ns, last);
        Outside::Unknown
    }

    /// Whether it continues, or has ended, beyond the connection's reach: its output can be resumed later.
    fn left_behind(&self) -> bool {
        false
    }

    /// Kills it; its changes are not restored.
    fn kill(&mut self);

    /// Closes its input and waits for its exit; `None` if it has not ended by then.
    fn wait(&mut self, limit: Duration) -> Option<Exit>;

    /// Time since it was started, by the host's clock.
    fn elapsed(&self) -> Duration;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Error)]
    #[error("no power")]
    struct NoPower;

    impl Reason for NoPower {
        fn definition(&self) -> Option<Definition> {
            Some(Definition { code: "machine.no-power", meaning: "", fix: "" })
        }
    }

    #[test]
    fn the_code_of_a_backend_replaces_the_general_one_where_a_target_is_prepared_or_boots() {
        let (target, why) = (String::new, || NoPower.into());
        assert_eq!(TargetError::Prepare { target: target(), why: why() }.code(), "machine.no-power");
        assert_eq!(TargetError::Boot { target: target(), why: why() }.code(), "machine.no-power");
        assert_eq!(TargetError::GiveBack { target: target(), why: why() }.code(), "machine.not-given-back");
        assert_eq!(TargetError::Prepare { target: target(), why: KeepsNothing.into() }.code(), "machine.not-prepared");
    }
}
