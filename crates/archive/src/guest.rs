//! What host and guest say to each other when the meter is the first process of a virtual machine.
//!
//! There are two ports. The one named [`DATA_PORT`] carries the standard input and output of the one command that runs in
//! the guest, byte for byte. The one named [`WORDS_PORT`] carries lines of JSON: the guest says [`GuestWord`]s; the host
//! sends one [`GuestCommand`], and [`FAREWELL`] when it has everything.

use serde::{Deserialize, Serialize};

/// Name of the port with the command's bytes.
pub const DATA_PORT: &str = "tardy.data";
/// Name of the port with the words around it.
pub const WORDS_PORT: &str = "tardy.words";
/// The host's last line: the guest may power off.
pub const FAREWELL: &str = "bye";
/// The meter in the initial file system; `/init` is another name for it.
pub const METER: &str = "tardy-meter";
/// Directory of the initial file system with the modules to load, in the order of their names.
pub const MODULES_DIRECTORY: &str = "modules";

/// What the guest is to run: the meter with these arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestCommand {
    /// What the guest is to call itself.
    pub hostname: String,
    pub arguments: Vec<String>,
}

/// One line of the guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuestWord {
    /// Ready for a command.
    Booted { kernel_release: String, uptime_ns: i64 },
    /// A line of the command's standard error.
    Said { line: String },
    /// The command ended, by a code or by a signal, after writing so many bytes to the data port.
    Ended { code: Option<i32>, signal: Option<i32>, bytes: u64 },
    /// The guest cannot go on.
    Failed { why: String },
}
