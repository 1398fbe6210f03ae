//! Failures on a serial line, with the fix.

use crate::board::full_disk::NO_ROOM_FIX;
use rustix::io::Errno;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// Why a line cannot be opened or used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PortError {
    #[error("failed to connect to {address}: {why}; start the program that serves it")]
    Socket { address: String, why: String },
    #[error("failed to resolve {address}: {why}")]
    NoAddress { address: String, why: String },
    #[error("failed to connect to {address}: {why}; the server must run there, with this port in raw mode")]
    Server { address: String, why: String },
    #[error(
        "{address} does not exist; `ls -l /dev/serial/by-id` lists the plugged-in devices, `dmesg` shows the device name"
    )]
    Missing { address: String },
    #[error("{address} is in use by {who}; end that first")]
    InUse { address: String, who: String },
    #[error("{} is in use by {who}, according to {}; end that first", device.display(), file.display())]
    Locked { device: PathBuf, who: String, file: PathBuf },
    #[error("no permission to open {address}; join its group (`sudo usermod -aG dialout $USER`, then log in again)")]
    NotPermitted { address: String },
    #[error("failed to open {address}: {error}")]
    Open { address: String, error: Errno },
    #[error("{address} is not a serial line; name the device of one, or unix:PATH")]
    NoTerminal { address: String },
    #[error("{address} does not run at {baud} baud; correct `baud`")]
    Speed { address: String, baud: u32 },
    #[error("the other side closed the line")]
    Closed,
    #[error("the line was unplugged, or the other side is gone ({0})")]
    Gone(Errno),
    #[error("the line accepted no data for {} s", .0.as_secs())]
    Stuck(Duration),
    #[error("{0}")]
    System(Errno),
}

/// Why no shell was reached.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LoginError {
    #[error("the board is in its boot loader; type `boot` there with a terminal program, or cycle its power")]
    BootLoader,
    #[error("the login asks {user} for a password; set --password-file or --password-command")]
    NoPassword { user: String },
    #[error("the login refused {user}; correct the user or the password in the target file")]
    Refused { user: String },
    #[error("no shell answered after the login of {user}; the login must start a POSIX shell")]
    NoShell { user: String },
    #[error(
        "nothing answers on {address}; check the board's power, the cable's port, and that the line has a login or a shell"
    )]
    Silent { address: String },
    #[error(
        "the output of {address} is not text; {baud} baud is probably the wrong speed: try --baud 9600, 57600, 115200, \
         921600 or 1500000"
    )]
    WrongSpeed { address: String, baud: u32 },
    #[error(
        "neither a login nor a shell answers on {address}; last output: {last_output}. If the login prompt is unusual, set \
         --login-prompt"
    )]
    Unknown { address: String, last_output: String },
    #[error("{error}: {last_output}")]
    LineGone { error: PortError, last_output: String },
    #[error("failed to read the password from {}: {why}", path.display())]
    PasswordFile { path: PathBuf, why: String },
    #[error("failed to run the password command: {why}")]
    PasswordCommand { why: String },
    #[error("the password command failed ({status}): {words}")]
    PasswordCommandFailed { status: String, words: String },
    #[error("the password contains characters that a line cannot type")]
    Untypable,
}

/// Why a file could not be sent to the board, as its shell reports it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Broken {
    #[error("no space left on the board{NO_ROOM_FIX}")]
    NoRoom,
    #[error("the file arrived incomplete")]
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
        "the board receives its input incompletely; its console may have another speed than its login, or no buffer"
    )]
    Garbled,
    #[error("no complete line from the shell for {} s", .0.as_secs())]
    ShellSilent(Duration),
    #[error("block {block} did not arrive in {tries} attempts; the line is too bad")]
    BlockLost { block: u32, tries: u32 },
    #[error(transparent)]
    Broken(#[from] Broken),
    #[error("the meter there speaks version {version} of the protocol; use the meter of this tardy")]
    Version { version: u32 },
    /// The session reports that the meter ended.
    #[error("the meter ended{}", after(last_output))]
    Left { last_output: String },
    /// The session answered instead of the meter.
    #[error("{message}{}", after(last_output))]
    Session { message: String, last_output: String },
    #[error("the meter does not answer there: {last_output}")]
    MeterSilent { last_output: String },
    #[error("unknown answer from the meter; use the meter of this tardy")]
    UnknownAnswer,
    #[error("no complete frame received for {} s", .0.as_secs())]
    NothingWhole(Duration),
    #[error("no answer within {} s", .0.as_secs())]
    NoAnswer(Duration),
    #[error("the meter was interrupted")]
    Interrupted,
    #[error("the line was given back")]
    GivenBack,
    #[error("the line was given up")]
    GivenUp,
}

fn after(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(": {words}") }
}
