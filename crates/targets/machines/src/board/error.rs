//! Why a board cannot be used, and what to do about it.

use super::board_file::BoardFileError;
use super::full_disk::NO_ROOM_FIX;
use super::openssh::SshError;
use super::serial::error::SerialError;
use crate::Exit;
use crate::architecture::UnknownArchitecture;
use crate::meter_places::MeterError;
use crate::target::Reason;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// A current use of a board that may end later.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Holder {
    /// Another session, in the board's words.
    #[error("{0}")]
    Session(String),
    #[error("run {run} continues there without its host; `tardy target collect` fetches it")]
    Run { run: String },
    #[error("process {pid} of this host has used it for {seconds} s")]
    Process { pid: u64, seconds: u64 },
    #[error("another process of this host uses it")]
    SomeProcess,
}

/// Why the lock of a board on this host was not acquired.
#[derive(Debug, Error)]
pub enum LockError {
    #[error("{0}; --wait waits for it")]
    Held(Holder),
    #[error("no directory for the lock: set HOME, or XDG_STATE_HOME to a directory of yours")]
    NoPlace,
    #[error(
        "failed to lock below {}: the directory is a link, or other users may write to it; set XDG_STATE_HOME to a directory \
         of yours",
        directory.display()
    )]
    Shared { directory: PathBuf },
    #[error("failed to lock below {}: {source}; set XDG_STATE_HOME to a directory of yours", directory.display())]
    Directory { directory: PathBuf, source: io::Error },
}

/// Why a command of the lab failed.
#[derive(Debug, Error)]
pub enum HookError {
    #[error("{0}")]
    NotStarted(String),
    #[error("the {hook} command was ended: stopped on request")]
    Stopped { hook: String },
    #[error("the {hook} command was ended after {} s", limit.as_secs())]
    TooLong { hook: String, limit: Duration },
    #[error("the {hook} command failed ({}): {last_output}", ended(*exit))]
    Failed { hook: String, exit: Option<Exit>, last_output: String },
}

fn ended(exit: Option<Exit>) -> String {
    exit.map_or("no exit status".into(), |exit| exit.to_string())
}

/// Why a file could not be sent.
#[derive(Debug, Error)]
pub enum SendError {
    #[error(transparent)]
    Line(#[from] io::Error),
    #[error(transparent)]
    Serial(#[from] SerialError),
    #[error("{words}{NO_ROOM_FIX}")]
    NoRoom { words: String },
    #[error("{words}")]
    Refused { words: String },
}

/// Why there is no meter for a board.
#[derive(Debug, Error)]
pub enum MeterCopyError {
    #[error(transparent)]
    Architecture(#[from] UnknownArchitecture),
    #[error(transparent)]
    Missing(#[from] MeterError),
    #[error("failed to read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

/// Why a board cannot be used.
#[derive(Debug, Error)]
pub enum BoardError {
    #[error("stopped on request")]
    Stopped,
    /// The target file is wrong.
    #[error(transparent)]
    File(#[from] BoardFileError),
    #[error("{0}")]
    Held(Holder),
    #[error("{0}; --wait waits for it")]
    NotWaitedFor(Holder),
    #[error("the target file has no [deploy] command for new software")]
    NoDeployHook,
    #[error("{0}; the new software was not deployed")]
    HeldBeforeDeploying(Holder),
    #[error(
        "the board has results of run {run} that were not fetched: `tardy target collect` with that archive fetches them, \
         `tardy target restore {target} --discard` deletes them"
    )]
    ResultsLeft { run: String, target: String },
    #[error(
        "the board has no data for this run: already fetched, discarded, or lost in a reboot; the archive has all data that \
         arrived before the line was lost"
    )]
    NothingKept,
    /// In the words of its shell.
    #[error("{0}")]
    Refused(String),
    #[error("another board answers at this address")]
    AnotherBoard,
    #[error("the board has not rebooted")]
    NotRebooted,
    #[error("the board did not answer within {} s: {last}", limit.as_secs())]
    NotBack { limit: Duration, last: Box<BoardError> },
    #[error("the board is not connected")]
    NotConnected,
    #[error("failed to create a directory for a socket: {0}")]
    NoSocket(io::Error),
    #[error(transparent)]
    Command(#[from] io::Error),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Hook(#[from] HookError),
    #[error(transparent)]
    Ssh(#[from] SshError),
    #[error(transparent)]
    Serial(#[from] SerialError),
    #[error(transparent)]
    NoMeter(#[from] MeterCopyError),
    #[error("failed to send the meter: {0}")]
    MeterNotSent(SendError),
}

impl Reason for BoardError {}
