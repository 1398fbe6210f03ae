//! Why a change to the machine could not be undone.

use super::trace_leftovers::AppendError;
use ftrace::tracefs::TracefsError;
use std::io;
use std::path::PathBuf;

/// A fault that remains, and how to fix it.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    #[error(
        "{path} is {now:?}, neither the {after:?} of the run nor the {before:?} before it; left alone, another program changed it"
    )]
    Changed { path: PathBuf, now: String, after: String, before: String },
    #[error("{path} is not back at {before:?}: {source}; as root: echo {value} > {path}")]
    Write { path: PathBuf, before: String, value: String, source: io::Error },
    #[error("{path} is {now:?} after {before:?} was written to it; as root: echo {value} > {path}")]
    NotTaken { path: PathBuf, now: String, before: String, value: String },
    #[error("{path} is held by a measurement (process {pid}) that changed it too; restore again when it has ended")]
    Held { path: PathBuf, pid: i32 },
    #[error("{path} is not a kernel setting; left alone")]
    NotASetting { path: PathBuf },
    #[error("{name} is not a trace instance or event of this program; left alone")]
    NotOurs { name: String },
    #[error("{what}: the kernel did not do this within {seconds} s")]
    Hangs { what: String, seconds: u64 },
    #[error("line {number} of the journal is not understood; left alone")]
    Line { number: usize },
    #[error("trace instance {name} may still be there: {source}")]
    InstanceUnknown { name: String, source: TracefsError },
    #[error("trace instance {name} is still there: failed to {source}")]
    Instance { name: String, source: TracefsError },
    #[error("trace event {name} may still be there: {source}")]
    EventUnknown { name: String, source: TracefsError },
    #[error("System V semaphore {key:#x} is still there: {source}; as root: ipcrm -S {key}")]
    Semaphore { key: i32, source: io::Error },
    #[error("the settings of {path} are not restored: {source}; `stty sane -F {path}` sets usual ones")]
    SerialPort { path: PathBuf, source: io::Error },
    #[error(
        "PCI device {address} is not back: {source}; as root: echo > /sys/bus/pci/devices/{address}/driver_override; echo \
         {address} > /sys/bus/pci/drivers_probe"
    )]
    PciDriver { address: String, source: io::Error },
    #[error("{path} is still there: {source}; remove it")]
    File { path: PathBuf, source: io::Error },
    #[error("{path} is not a file of a setup; left alone")]
    NotOfSetup { path: PathBuf },
    #[error("{path} is not as it was before the setup: {source}")]
    Setup { path: PathBuf, source: io::Error },
    #[error("another program changed {path} after the setup; left alone: restore it, then undo the setup again")]
    ChangedSinceSetup { path: PathBuf },
    #[error("{path} contains {instances} of the user; end the measurement, then undo the setup again")]
    InstancesInUse { path: PathBuf, instances: String },
    #[error(transparent)]
    Event(#[from] AppendError),
}
