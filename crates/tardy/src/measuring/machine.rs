//! The machine under test: what its name refers to, and how it is opened.

use super::signals::Signals;
use crate::exit::UsageError;
use crate::options::quantity::positive_time_ns;
use clap::Args;
use machines::Target;
use machines::architecture::Architecture;
use machines::board::board_file::Board;
use machines::board::{AccessOptions, BoardTarget, Purpose};
use machines::labgrid::LabgridTarget;
use machines::labgrid::place_file::LabgridPlace;
use machines::local::{self, LocalTarget};
use machines::meter_places::MeterPlaces;
use machines::qemu::machine_file::{Backend, VirtualMachine};
use machines::qemu::virtual_time::VirtualTimeTarget;
use machines::qemu::{QemuTarget, kernel};
use machines::stop::StopRequests;
use machines::target_file::{Description, TargetFileError, TargetFiles};
use std::fs;
use std::path::Path;
use std::time::Duration;
use words::printable::printable;

/// How a board is to be had.
#[derive(Debug, Args)]
pub struct AccessArguments {
    /// If the board is in use, wait until it is free, at most TIME
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "24h", value_parser = positive_time_ns, help_heading = "Board")]
    wait: Option<u64>,
}

impl AccessArguments {
    pub fn options(&self, purpose: Purpose) -> AccessOptions {
        AccessOptions { purpose, wait: Duration::from_nanos(self.wait.unwrap_or(0)), ..reporting() }
    }
}

/// Progress is reported on standard error.
pub fn reporting() -> AccessOptions {
    AccessOptions { report: |text| complain!("tardy: {}", printable(text)), ..AccessOptions::default() }
}

/// A board; no connection is made yet.
pub fn open_board(name: &str, board: Board, access: AccessOptions, stop: StopRequests) -> Box<dyn Target> {
    Box::new(BoardTarget::new(name, board, MeterPlaces::of_process(), access, stop))
}

/// A board of a lab; it is not acquired yet.
pub fn open_place(name: &str, place: LabgridPlace, access: AccessOptions, stop: StopRequests) -> Box<dyn Target> {
    Box::new(LabgridTarget::new(name, place, MeterPlaces::of_process(), access, stop))
}

/// The machine with this name, ready for one run.
///
/// # Errors
/// If it does not exist, or its file cannot be used here.
pub fn open(name: &str, meter: &Path, signals: &Signals) -> anyhow::Result<Box<dyn Target>> {
    open_with(name, meter, signals, reporting())
}

/// The machine with this name, ready to be used with this meter or with the meter of its own architecture. `access`
/// sets how a board is accessed.
///
/// # Errors
/// As [`open`].
pub fn open_with(
    name: &str,
    meter: &Path,
    signals: &Signals,
    access: AccessOptions,
) -> anyhow::Result<Box<dyn Target>> {
    if name == local::NAME {
        return Ok(Box::new(LocalTarget));
    }
    let stop = signals.requests().clone();
    match TargetFiles::of_process().describe(name).map_err(usage)? {
        Description::Machine(machine) => open_virtual(name, *machine, meter, stop),
        Description::Board(board) => Ok(open_board(name, *board, access, stop)),
        Description::Labgrid(place) => Ok(open_place(name, *place, access, stop)),
    }
}

/// A virtual machine under the name of a target, ready to be used with this meter or with the meter of its own
/// architecture.
///
/// # Errors
/// If there is no cache for its kernel, or no meter for it.
pub fn open_virtual(
    name: &str,
    machine: VirtualMachine,
    meter: &Path,
    stop: StopRequests,
) -> anyhow::Result<Box<dyn Target>> {
    match machine.backend {
        Backend::Qemu => Ok(Box::new(open_emulated(name, machine, meter, stop)?)),
        Backend::Virtual => {
            let cache = kernel::cache()?;
            Ok(Box::new(VirtualTimeTarget::new(name, machine, meter, &cache)))
        }
    }
}

/// A virtual machine like that of [`open_virtual`], but not in virtual time.
///
/// # Errors
/// As [`open_virtual`].
pub fn open_emulated(
    name: &str,
    machine: VirtualMachine,
    meter: &Path,
    stop: StopRequests,
) -> anyhow::Result<QemuTarget> {
    let cache = kernel::cache()?;
    let foreign = Architecture::of_host() != Some(machine.architecture);
    let meter = if foreign { MeterPlaces::of_process().find_for(machine.architecture)? } else { meter.to_owned() };
    Ok(QemuTarget::new(name, machine, &meter, &cache, stop))
}

/// Checks that a target exists, before anything is measured.
///
/// # Errors
/// A [`UsageError`] that names the fix.
pub fn find_target(name: &str) -> Result<(), UsageError> {
    if name == local::NAME {
        return Ok(());
    }
    TargetFiles::of_process().find(name).map(drop).map_err(usage)
}

/// Whether a target's clock counts executed instructions; `false` for a target that does not exist.
pub fn is_in_virtual_time(name: &str) -> bool {
    TargetFiles::of_process().read(name).is_ok_and(|machine| machine.backend == Backend::Virtual)
}

/// Whether a target is a board; `false` for one that does not exist.
pub fn is_board(name: &str) -> bool {
    TargetFiles::of_process().describe(name).is_ok_and(|found| !matches!(found, Description::Machine(_)))
}

/// The host name of the machine under test, for the name of an archive.
pub fn host(target: &str) -> String {
    if target != local::NAME {
        return target.to_owned();
    }
    let read = fs::read_to_string("/proc/sys/kernel/hostname");
    read.map_or_else(|_| "unknown".into(), |name| name.trim().to_owned())
}

/// The user fixes a missing or wrong target on the command line or in its file.
pub fn usage(error: TargetFileError) -> UsageError {
    UsageError(error.to_string())
}
