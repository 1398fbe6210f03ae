//! Protocol between host and guest when the meter is the first process of a virtual machine.
//!
//! There are two ports. [`DATA_PORT`] carries bytes: standard input and output of the command in the guest, and files.
//! [`WORDS_PORT`] carries lines of JSON that describe the bytes. The host sends [`HostLine`]s, each after the previous
//! one was answered, and [`HostWord::Clock`] at any time; the guest sends [`GuestWord`]s.
//!
//! A guest in virtual time has no such ports, because their input would arrive at an instant of the host's time. It
//! reads everything from [`VIRTUAL_TIME_FILE`], runs it, writes the measurement's stream to memory that is a file of
//! the host, at [`STREAM_PCI_SLOT`], and powers off. Such memory contains the bytes from its start; its last
//! [`WRITTEN_BYTES`] contain their number, little-endian, written after them.

use archive::settings::RunSettings;
use serde::{Deserialize, Serialize};

/// Name of the port with the command's bytes.
pub const DATA_PORT: &str = "tardy.data";
/// Name of the port with the messages.
pub const WORDS_PORT: &str = "tardy.words";
/// Largest file in either direction, in bytes.
pub const FILE_BYTES_MAX: u64 = 256 << 20;
/// The meter in the initial file system; `/init` is another name for it.
pub const METER: &str = "tardy-meter";
/// Directory of the initial file system with the modules to load, in the order of their names.
pub const MODULES_DIRECTORY: &str = "modules";

/// Directory of the initial file system with the programs that the guest starts after booting.
pub const PROGRAMS_DIRECTORY: &str = "programs";
/// File there, a list of [`GuestProgram`]s as JSON.
pub const PROGRAMS_LIST: &str = "list.json";

/// A program that runs beside every command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestProgram {
    /// Name below [`PROGRAMS_DIRECTORY`].
    pub file: String,
    pub arguments: Vec<String>,
}

/// File of the initial file system, a [`VirtualTimePlan`] as JSON: its presence selects virtual time.
pub const VIRTUAL_TIME_FILE: &str = "virtual-time.json";
/// Slot on the first PCI bus of the shared memory for the stream of a measurement in virtual time.
pub const STREAM_PCI_SLOT: u8 = 0x10;
/// Slot of the shared memory for the names of the kernel's functions, lines as in /proc/kallsyms.
pub const SYMBOLS_PCI_SLOT: u8 = 0x11;
/// Size of the number at the end of shared memory.
pub const WRITTEN_BYTES: usize = 8;

/// The plan of a guest in virtual time, completely known before it boots.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VirtualTimePlan {
    /// Host name for the guest.
    pub hostname: String,
    /// CLOCK_MONOTONIC at which the meter is started, independent of the kernel's boot time; booting must have ended by
    /// then.
    pub start_ns: i64,
    pub settings: RunSettings,
    /// Also send the names of the kernel's functions after the measurement. A plan with this set is another trajectory,
    /// so use a separate boot.
    #[serde(default)]
    pub symbols: bool,
}

/// The command of the guest: the meter with these arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestCommand {
    /// Host name for the guest.
    pub hostname: String,
    pub arguments: Vec<String>,
    /// CLOCK_REALTIME to set first, if the guest's stood still.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub realtime_ns: Option<i64>,
    /// The guest reports its clock first; the host may then ask for it with [`HostWord::Clock`].
    #[serde(rename = "tell_clock", default, skip_serializing_if = "std::ops::Not::not")]
    pub report_clock: bool,
}

/// One line of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostLine {
    /// Bytes sent to the data port before those that belong to this line. Input that a command did not read is skipped
    /// by it.
    pub data_before: u64,
    pub word: HostWord,
}

/// A request of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostWord {
    /// Run a command, with the bytes of the data port as its input. Answered by [`GuestWord::Ended`].
    Run(GuestCommand),
    /// The next bytes of the data port are a file. Answered by [`GuestWord::Stored`].
    Put { path: String, executable: bool, bytes: u64 },
    /// Send a file of at most this number of bytes. Answered by [`GuestWord::Fetched`].
    Get { path: String, bytes_max: u64 },
    /// Report the clock. Answered by [`GuestWord::Clock`] at once, whatever else is in progress.
    Clock { asked_ns: i64 },
    /// Power off.
    Bye,
}

/// The parts of an absolute path in the guest; `None` if it is relative, contains dots as parts, or is the meter
/// itself.
pub fn parts_of_path(path: &str) -> Option<Vec<&str>> {
    let parts: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
    let sound = parts.iter().all(|part| !part.is_empty() && *part != "." && *part != ".." && !part.contains('\0'));
    (sound && parts != ["init"] && parts != [METER]).then_some(parts)
}

/// One line of the guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuestWord {
    /// Ready for a command.
    Booted { kernel_release: String, uptime_ns: i64 },
    /// A line of the command's standard error.
    Said { line: String },
    /// The command ended, with a code or by a signal, after writing this number of bytes to the data port.
    Ended { code: Option<i32>, signal: Option<i32>, bytes: u64 },
    /// The file was stored.
    Stored,
    /// The next bytes of the data port are the file.
    Fetched { bytes: u64 },
    /// CLOCK_MONOTONIC, with the host's instant at which it was asked for.
    Clock { asked_ns: i64, monotonic_ns: i64 },
    /// The request cannot be fulfilled; the guest continues.
    Refused { why: String },
    /// The guest cannot continue.
    Failed { why: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_inside_and_spares_the_meter() {
        assert_eq!(parts_of_path("/opt/a b/c").unwrap(), ["opt", "a b", "c"]);
        for path in ["", "/", "relative", "/a/../b", "/./a", "/a//b", "/a/", "/init", "/tardy-meter", "/a\0b"] {
            assert_eq!(parts_of_path(path), None, "{path:?}");
        }
    }
}
