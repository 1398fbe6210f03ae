//! What host and guest say to each other when the meter is the first process of a virtual machine.
//!
//! There are two ports. The one named [`DATA_PORT`] carries bytes: the standard input and output of the command that runs in
//! the guest, and files. The one named [`WORDS_PORT`] carries lines of JSON that say what the bytes are: the host says
//! [`HostLine`]s, one after the other has been answered, and [`HostWord::Clock`] at any time; the guest says [`GuestWord`]s.
//!
//! A guest in virtual time has no such ports, because what the host says comes at an instant of the host's. It finds all
//! it needs in [`VIRTUAL_TIME_FILE`], runs it, and writes the measurement's stream to memory that is a file of the host's, at
//! [`STREAM_PCI_SLOT`], after which it powers off. Such memory holds the bytes from its beginning on; its last
//! [`WRITTEN_BYTES`] say how many there are, little-endian, and are written after them.

use archive::settings::RunSettings;
use serde::{Deserialize, Serialize};

/// Name of the port with the command's bytes.
pub const DATA_PORT: &str = "tardy.data";
/// Name of the port with the words around it.
pub const WORDS_PORT: &str = "tardy.words";
/// Longest file that goes either way, in bytes.
pub const FILE_BYTES_MAX: u64 = 256 << 20;
/// The meter in the initial file system; `/init` is another name for it.
pub const METER: &str = "tardy-meter";
/// Directory of the initial file system with the modules to load, in the order of their names.
pub const MODULES_DIRECTORY: &str = "modules";

/// File of the initial file system, a [`VirtualTimePlan`] as JSON: its presence makes a guest one in virtual time.
pub const VIRTUAL_TIME_FILE: &str = "virtual-time.json";
/// Slot on the first PCI bus of the shared memory that takes the stream of a measurement in virtual time.
pub const STREAM_PCI_SLOT: u8 = 0x10;
/// Slot of a second one that takes the names of the kernel's functions, lines as in /proc/kallsyms.
pub const SYMBOLS_PCI_SLOT: u8 = 0x11;
/// Size of the number at the end of shared memory.
pub const WRITTEN_BYTES: usize = 8;

/// What a guest in virtual time does, all of it known before it boots.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VirtualTimePlan {
    /// What the guest is to call itself.
    pub hostname: String,
    /// CLOCK_MONOTONIC at which the meter is started, whatever the kernel needed until then; booting must be over.
    pub start_ns: i64,
    pub settings: RunSettings,
    /// After the measurement the names of the kernel's functions are sent, too. A plan that asks for them is another
    /// trajectory; ask in a boot of its own.
    #[serde(default)]
    pub symbols: bool,
}

/// What the guest is to run: the meter with these arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestCommand {
    /// What the guest is to call itself.
    pub hostname: String,
    pub arguments: Vec<String>,
    /// CLOCK_REALTIME that the guest is to set its own to first, when that stood still.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub realtime_ns: Option<i64>,
    /// The guest reports its clock first; the host may then ask for it again with [`HostWord::Clock`].
    #[serde(rename = "tell_clock", default, skip_serializing_if = "std::ops::Not::not")]
    pub report_clock: bool,
}

/// One line of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostLine {
    /// How many bytes went to the data port before those that belong to this line. What a command did not read of its input
    /// is not taken for anything else.
    pub data_before: u64,
    pub word: HostWord,
}

/// What the host wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostWord {
    /// Run a command, with the bytes of the data port as its input. Answered by [`GuestWord::Ended`].
    Run(GuestCommand),
    /// The next bytes of the data port are a file. Answered by [`GuestWord::Stored`].
    Put { path: String, executable: bool, bytes: u64 },
    /// Send a file of no more than so many bytes. Answered by [`GuestWord::Fetched`].
    Get { path: String, bytes_max: u64 },
    /// What does the clock say? Answered by [`GuestWord::Clock`] at once, whatever else goes on.
    Clock { asked_ns: i64 },
    /// There is nothing more: power off.
    Bye,
}

/// The parts of an absolute path in the guest; `None` for one that is relative, has dots in it, or names the meter itself.
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
    /// The command ended, by a code or by a signal, after writing so many bytes to the data port.
    Ended { code: Option<i32>, signal: Option<i32>, bytes: u64 },
    /// The file is there.
    Stored,
    /// The next bytes of the data port are the file.
    Fetched { bytes: u64 },
    /// CLOCK_MONOTONIC, with the instant of the host's at which it was asked for.
    Clock { asked_ns: i64, monotonic_ns: i64 },
    /// What was asked cannot be done; the guest goes on.
    Refused { why: String },
    /// The guest cannot go on.
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
