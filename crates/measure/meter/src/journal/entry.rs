//! One change to the machine, and how it is undone.

use super::measured_file;
use super::pci_driver;
use super::setting_roots::SettingRoots;
use super::setup;
use super::trace_leftovers;
use super::undo_error::UndoError;
use crate::kernel::semaphore::SysvSemaphore;
use crate::kernel::serial_port::{self, PortSettings};
use crate::kernel::trace_mount;
use archive::settings::{chosen, same_setting};
use archive::setup::SetupChange;
use archive::watched::guard::is_kept_name;
use ftrace::tracefs::{Tracefs, USUAL_ROOTS};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// The process that wrote the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    pub journal_version: u32,
    pub pid: i32,
    /// Start time of the process in clock ticks since boot: distinguishes it from a later process with the same number.
    pub started_ticks: u64,
    pub boot_id: String,
}

impl Header {
    /// The header of the calling process.
    pub fn of_this_process() -> Self {
        let pid = std::process::id() as i32;
        Self { journal_version: 1, pid, started_ticks: started_ticks(pid).unwrap_or(0), boot_id: boot_id() }
    }

    /// Whether the process that wrote it is still running.
    pub fn alive(&self) -> bool {
        started_ticks(self.pid) == Some(self.started_ticks)
    }
}

/// The identity of this boot; empty if the kernel does not provide it.
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|text| text.trim().to_owned()).unwrap_or_default()
}

pub fn started_ticks(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain any character, so fields are counted from the last parenthesis.
    let (_, rest) = stat.rsplit_once(')')?;
    let state = rest.split_whitespace().next()?;
    if state == "Z" {
        return None;
    }
    rest.split_whitespace().nth(19)?.parse().ok()
}

/// A change to the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A file of /proc/sys, /proc/irq or /sys was written. `intended`: the write is about to happen, and the kernel's
    /// form of the value is not known yet; the same entry without it follows at once.
    Setting {
        path: PathBuf,
        before: String,
        after: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        intended: bool,
    },
    /// An instance was created in the trace file system.
    TraceInstance { name: String },
    /// An instance in memory that a reset keeps was switched on.
    KeptInstance { name: String },
    /// A synthetic event was created for the kernel to find maxima with.
    MadeUpEvent { name: String },
    /// A set of System V semaphores was created.
    SysvSemaphore { key: i32 },
    /// A serial port gets other settings.
    SerialPort { path: PathBuf, before: PortSettings },
    /// A PCI device was given to the driver for user space; `before`: the driver that had it.
    PciDriver { address: String, before: Option<String> },
    /// A file to read and write in was made. Unlike the other changes it is still there after a reboot.
    MeasuredFile { path: PathBuf },
    /// A setup changes a file. It is still there after a reboot, or the boot makes it again.
    Setup(SetupChange),
}

impl Entry {
    /// Whether the change is still there when another kernel has started.
    pub fn outlives_the_kernel(&self) -> bool {
        matches!(self, Self::MeasuredFile { .. } | Self::Setup(_))
    }

    /// Description for messages.
    pub fn describe(&self) -> String {
        match self {
            Self::Setting { path, before, .. } => format!("{} = {before}", path.display()),
            Self::TraceInstance { name } => format!("trace instance {name} removed"),
            Self::KeptInstance { name } => format!("trace instance {name} switched off"),
            Self::MadeUpEvent { name } => format!("trace event {name} removed"),
            Self::SysvSemaphore { key } => format!("System V semaphore {key:#x} removed"),
            Self::SerialPort { path, .. } => format!("settings of {} restored", path.display()),
            Self::PciDriver { address, before: Some(driver) } => format!("PCI device {address} given back to {driver}"),
            Self::PciDriver { address, before: None } => format!("PCI device {address} without a driver"),
            Self::MeasuredFile { path } => format!("{} removed", path.display()),
            Self::Setup(change) => setup::describe(change),
        }
    }

    /// Undoes the change; undoing it twice is harmless. Returns whether there was anything left to undo.
    ///
    /// # Errors
    /// The remaining fault, and how to fix it.
    pub fn undo(&self, roots: &SettingRoots) -> Result<bool, UndoError> {
        match self {
            Self::Setting { path, .. } if !roots.contain(path) => Err(UndoError::NotASetting { path: path.clone() }),
            Self::Setting { path, before, after, intended } => {
                undo_setting(path, before, (!intended).then_some(after.as_str()))
            }
            Self::TraceInstance { name } | Self::MadeUpEvent { name } if !is_own_name(name) => {
                Err(UndoError::NotOurs { name: name.clone() })
            }
            Self::KeptInstance { name } if !is_kept_name(name) => Err(UndoError::NotOurs { name: name.clone() }),
            Self::TraceInstance { name } => undo_instance(name),
            Self::KeptInstance { name } => undo_kept_instance(name),
            Self::MadeUpEvent { name } => match trace_mount::find_or_mount() {
                Ok(tracefs) => Ok(trace_leftovers::forget(&tracefs, name)?),
                Err(source) => Err(UndoError::EventUnknown { name: name.clone(), source }),
            },
            Self::SysvSemaphore { key } => {
                SysvSemaphore::remove(*key).map_err(|source| UndoError::Semaphore { key: *key, source })
            }
            Self::SerialPort { path, .. } if !is_below_dev(path) => {
                Err(UndoError::NotOurs { name: path.display().to_string() })
            }
            Self::SerialPort { path, before } => {
                undo_port(path, before).map_err(|source| UndoError::SerialPort { path: path.clone(), source })
            }
            Self::MeasuredFile { path } if !measured_file::is_own(path) => {
                Err(UndoError::NotOurs { name: path.display().to_string() })
            }
            Self::MeasuredFile { path } => {
                measured_file::remove(path).map_err(|source| UndoError::File { path: path.clone(), source })
            }
            Self::PciDriver { address, before } => pci_driver::give_back(Path::new("/sys"), address, before.as_deref())
                .map_err(|source| UndoError::PciDriver { address: address.clone(), source }),
            Self::Setup(change) => setup::undo(change),
        }
    }
}

/// Without intentions that were carried out or rejected: the entry that follows says which.
pub fn settled(entries: Vec<Entry>) -> Vec<Entry> {
    let settled_by = |entry: &Entry, next: Option<&Entry>| match (entry, next) {
        (Entry::Setting { path, intended: true, .. }, Some(Entry::Setting { path: next, intended: false, .. })) => {
            path == next
        }
        _ => false,
    };
    let keep: Vec<bool> = (0..entries.len()).map(|at| !settled_by(&entries[at], entries.get(at + 1))).collect();
    entries.into_iter().zip(keep).filter(|(_, keep)| *keep).map(|(entry, _)| entry).collect()
}

/// Whether an instance or an event has a name of this tool.
fn is_own_name(name: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    (name.starts_with("tardy-") || name.starts_with(trace_leftovers::EVENT_PREFIX)) && name.chars().all(plain)
}

/// `after` is the value that the kernel showed after the change, if known.
fn undo_setting(path: &Path, before: &str, after: Option<&str>) -> Result<bool, UndoError> {
    if USUAL_ROOTS.iter().any(|root| path.starts_with(root)) && !path.exists() {
        // The run that changed it had mounted the trace file system only for itself.
        let _ = trace_mount::find_or_mount();
    }
    let now = read_setting(path).map(|text| text.trim_end().to_owned());
    match now {
        Ok(now) if now == before || after == Some(before) => return Ok(false),
        // The kernel may show a value in another form, so only a value that differs from both is from another program.
        Ok(now) if after.is_some_and(|after| now != after && !same_setting(&now, after)) => {
            let (after, before) = (after.unwrap_or_default().to_owned(), before.to_owned());
            return Err(UndoError::Changed { path: path.to_owned(), now, after, before });
        }
        _ => {}
    }
    let value = chosen(before);
    let (path_of, before_of, value_of) = (|| path.to_owned(), || before.to_owned(), || value.to_owned());
    write_setting(path, value).map_err(|source| UndoError::Write {
        path: path_of(),
        before: before_of(),
        value: value_of(),
        source,
    })?;
    match read_setting(path) {
        Ok(now) if now.trim_end() != before && !same_setting(&now, before) => {
            Err(UndoError::NotTaken { path: path_of(), now, before: before_of(), value: value_of() })
        }
        _ => Ok(true),
    }
}

/// Writes a kernel setting like `echo`: some settings accept a word only with a line feed.
pub fn write_setting(path: &Path, value: &str) -> std::io::Result<()> {
    fs::write(path, format!("{value}\n"))
}

/// The text of a kernel setting. Some of them (`osnoise/cpus`) cannot be read in small pieces, so the standard library,
/// which starts with a few bytes, cannot be used.
///
/// # Errors
/// Errors of the kernel.
pub fn read_setting(path: &Path) -> std::io::Result<String> {
    const PIECE: usize = 64 << 10;
    let mut file = fs::File::open(path)?;
    let mut text = Vec::new();
    loop {
        let filled = text.len();
        text.resize(filled + PIECE, 0);
        let read = file.read(&mut text[filled..]);
        text.truncate(filled + read.as_ref().map_or(0, |count| *count));
        match read {
            Ok(0) => return Ok(String::from_utf8_lossy(&text).into_owned()),
            Err(error) if error.kind() != std::io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
    }
}

/// A journal names devices alone, whatever its directory lets through.
fn is_below_dev(path: &Path) -> bool {
    path.starts_with("/dev") && path.components().all(|part| part != Component::ParentDir)
}

/// A device that is gone has nothing to undo.
fn undo_port(path: &Path, before: &PortSettings) -> std::io::Result<bool> {
    if !path.exists() {
        return Ok(false);
    }
    let port = serial_port::open_port(path)?;
    let changed = serial_port::settings(&port)? != *before;
    if changed {
        serial_port::restore(&port, before)?;
    }
    Ok(changed)
}

fn undo_instance(name: &str) -> Result<bool, UndoError> {
    let tracefs = match trace_mount::find_or_mount() {
        Ok(tracefs) => tracefs,
        Err(source) => return Err(UndoError::InstanceUnknown { name: name.to_owned(), source }),
    };
    undo_instance_in(&tracefs, name)
}

fn undo_instance_in(tracefs: &Tracefs, name: &str) -> Result<bool, UndoError> {
    if !tracefs.instances().iter().any(|found| found == name) {
        return Ok(false);
    }
    if let Ok(instance) = tracefs.open_instance(name) {
        trace_leftovers::release(&instance);
    }
    // A reader that is just closing it keeps it busy for a moment.
    let mut tries = 20;
    loop {
        match tracefs.remove_instance(name) {
            Ok(()) => return Ok(true),
            Err(source) if tries == 0 => return Err(UndoError::Instance { name: name.to_owned(), source }),
            Err(_) => tries -= 1,
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// The instance is part of the kernel's command line and stays; it records nothing, as after the boot.
fn undo_kept_instance(name: &str) -> Result<bool, UndoError> {
    let unknown = |source| UndoError::InstanceUnknown { name: name.to_owned(), source };
    let tracefs = trace_mount::find_or_mount().map_err(unknown)?;
    let Ok(instance) = tracefs.open_instance(name) else { return Ok(false) };
    if !instance.is_in_kept_memory() {
        return Err(UndoError::NotOurs { name: name.to_owned() });
    }
    let was_on = instance.tracing_on().map_err(unknown)?;
    let off = instance.set_tracing_on(false).and_then(|()| instance.disable_events());
    off.map_err(|source| UndoError::Instance { name: name.to_owned(), source })?;
    // Without the event there is nothing to filter.
    let _ = instance.set_event_filter("timer", "hrtimer_start", "0");
    // Events that are left would look like the last ones of a machine that stopped now.
    let _ = instance.clear();
    Ok(was_on)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_undone_that_this_tool_does_not_change() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("file");
        fs::write(&path, "2").unwrap();
        let planted = |path: &Path| Entry::Setting {
            path: path.to_owned(),
            before: "1".into(),
            after: "2".into(),
            intended: true,
        };
        let roots = SettingRoots::of_kernel();
        assert!(matches!(planted(&path).undo(&roots), Err(UndoError::NotASetting { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), "2");
        for name in ["../../../tmp/x", "tardy-1/../../x", "foreign", "tardy-", ".."] {
            let entry = Entry::TraceInstance { name: name.into() };
            let undone = entry.undo(&roots);
            assert!(matches!(undone, Err(UndoError::NotOurs { .. })) || name == "tardy-", "{name}: {undone:?}");
            let undone = Entry::KeptInstance { name: name.into() }.undo(&roots);
            assert!(matches!(undone, Err(UndoError::NotOurs { .. })), "{name}: {undone:?}");
        }
    }
}
