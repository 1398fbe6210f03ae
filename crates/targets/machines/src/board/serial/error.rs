//! Failures on a serial line, with the fix.

use crate::board::line::NO_ROOM_FIX;
use rustix::io::Errno;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// Why a line cannot be opened or used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PortError {
    #[error("{address} cannot be connected to: {why}; is the program that serves it running?")]
    Socket { address: String, why: String },
    #[error("{address} has no address: {why}")]
    NoAddress { address: String, why: String },
    #[error("{address} cannot be connected to: {why}; does the server run there, with this port in raw mode?")]
    Server { address: String, why: String },
    #[error("there is no {address}; `ls -l /dev/serial/by-id` shows what is plugged in, `dmesg` how it is called")]
    Missing { address: String },
    #[error("{address} is in use by {who}; end that first")]
    InUse { address: String, who: String },
    #[error("{} is in use by {who}, says {}; end that first", device.display(), file.display())]
    Locked { device: PathBuf, who: String, file: PathBuf },
    #[error("{address} may not be opened by you; join its group (`sudo usermod -aG dialout $USER`, then log in again)")]
    NotPermitted { address: String },
    #[error("{address} cannot be opened: {error}")]
    Open { address: String, error: Errno },
    #[error("{address} is no serial line; name the device of one, or unix:PATH")]
    NoTerminal { address: String },
    #[error("{address} does not run at {baud} baud; correct `baud`")]
    Speed { address: String, baud: u32 },
    #[error("the other side has closed it")]
    Closed,
    #[error("it was unplugged, or its other side is gone ({0})")]
    Gone(Errno),
    #[error("it took nothing for {} s", .0.as_secs())]
    Stuck(Duration),
    #[error("{0}")]
    System(Errno),
}

/// Why no shell was reached.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LoginError {
    #[error("it is in its boot loader; type `boot` there with a terminal program, or cycle its power")]
    BootLoader,
    #[error("its login asks {user} for a password; say where it is, with --password-file or --password-command")]
    NoPassword { user: String },
    #[error("its login refuses {user}; correct the user or the password in the target file")]
    Refused { user: String },
    #[error("{user} was logged in, and no shell answered; is there a POSIX shell behind that login?")]
    NoShell { user: String },
    #[error(
        "nothing answers on {address}; is the board on, the cable in the right port, and a login or a shell on that line?"
    )]
    Silent { address: String },
    #[error(
        "what comes from {address} is not text; {baud} baud is probably not its speed: try --baud 9600, 57600, 115200, \
         921600 or 1500000"
    )]
    WrongSpeed { address: String, baud: u32 },
    #[error(
        "neither a login nor a shell answers on {address}; its last words: {last_words}. A login that asks otherwise is \
         described with --login-prompt"
    )]
    Unknown { address: String, last_words: String },
    #[error("{error}: {last_words}")]
    LineGone { error: PortError, last_words: String },
    #[error("the password cannot be read from {}: {why}", path.display())]
    PasswordFile { path: PathBuf, why: String },
    #[error("the password command cannot be run: {why}")]
    PasswordCommand { why: String },
    #[error("the password command failed ({status}): {words}")]
    PasswordCommandFailed { status: String, words: String },
    #[error("the password has letters that cannot be typed")]
    Untypable,
}

/// Why a file could not be sent to the board, as its shell reports it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Broken {
    #[error("no space left on the board{NO_ROOM_FIX}")]
    NoRoom,
    #[error("it did not arrive whole")]
    NotWhole,
    #[error("{0}")]
    Other(String),
}

/// Why an operation over a serial line failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SerialError {
    #[error("stopped on request")]
    Stopped,
    #[error(transparent)]
    Port(#[from] PortError),
    #[error(transparent)]
    Login(#[from] LoginError),
    #[error(
        "what is sent to it does not arrive whole; is its console at another speed than its login, or without a buffer?"
    )]
    Garbled,
    #[error("its shell said nothing that is whole for {} s", .0.as_secs())]
    ShellSilent(Duration),
    #[error("block {block} did not arrive in {tries} attempts; is the line that bad?")]
    BlockLost { block: u32, tries: u32 },
    #[error(transparent)]
    Broken(#[from] Broken),
    #[error("the meter there speaks version {version} of this; use the one of this tardy")]
    Version { version: u32 },
    /// The keeper reports that the meter ended.
    #[error("the meter has left{}", after(last_words))]
    Left { last_words: String },
    /// The keeper answered instead of the meter.
    #[error("{said}{}", after(last_words))]
    Keeper { said: String, last_words: String },
    #[error("the meter does not answer there: {last_words}")]
    MeterSilent { last_words: String },
    #[error("its answer is not known here; use the meter of this tardy")]
    UnknownAnswer,
    #[error("it has said nothing that is whole for {} s", .0.as_secs())]
    NothingWhole(Duration),
    #[error("no answer within {} s", .0.as_secs())]
    NoAnswer(Duration),
    #[error("it was interrupted")]
    Interrupted,
    #[error("the line was given back")]
    GivenBack,
    #[error("the line was given up")]
    GivenUp,
}

fn after(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(": {words}") }
}
