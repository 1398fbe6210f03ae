//! A target that exists: its name and its file, read once where the name enters the program, then passed on.

use crate::Target;
use crate::architecture::Architecture;
use crate::board::{AccessOptions, BoardTarget};
use crate::boot_words::BootWords;
use crate::labgrid::LabgridTarget;
use crate::local::{self, LocalTarget};
use crate::meter_places::{MeterError, MeterPlaces};
use crate::qemu::QemuTarget;
use crate::qemu::kernel::{self, KernelError};
use crate::qemu::machine_file::{Backend, VirtualMachine};
use crate::qemu::virtual_time::VirtualTimeTarget;
use crate::stop::StopRequests;
use crate::target_file::{Description, TargetFileError, TargetFiles};
use archive::settings::SettingChange;
use std::fs;
use std::path::Path;
use thiserror::Error;

/// A target that exists.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownTarget {
    name: String,
    /// `None`: this machine, which has no file.
    file: Option<Description>,
}

/// Why a target cannot be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// There is no cache for its kernel.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// There is no meter for its architecture.
    #[error(transparent)]
    Meter(#[from] MeterError),
}

impl KnownTarget {
    /// This machine.
    pub fn local() -> Self {
        Self { name: local::NAME.into(), file: None }
    }

    /// A target with the content of its file.
    pub fn new(name: &str, file: Description) -> Self {
        Self { name: name.into(), file: Some(file) }
    }

    /// The target with this name, from the directories of this process.
    ///
    /// # Errors
    /// [`TargetFileError`]: no target has this name, or its file cannot be used.
    pub fn find(name: &str) -> Result<Self, TargetFileError> {
        Self::find_in(&TargetFiles::of_process(), name)
    }

    /// As [`Self::find`], from these directories.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub fn find_in(files: &TargetFiles, name: &str) -> Result<Self, TargetFileError> {
        if name == local::NAME {
            return Ok(Self::local());
        }
        Ok(Self::new(name, files.describe(name)?))
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The content of its file; `None` for this machine.
    pub fn file(&self) -> Option<&Description> {
        self.file.as_ref()
    }

    /// Whether it is this machine.
    pub fn is_local(&self) -> bool {
        self.file.is_none()
    }

    /// Whether it is a board, of this host or of a lab.
    pub fn is_board(&self) -> bool {
        match &self.file {
            Some(Description::Board(_) | Description::Labgrid(_)) => true,
            Some(Description::Machine(_)) | None => false,
        }
    }

    /// Whether its clock counts executed instructions.
    pub fn is_in_virtual_time(&self) -> bool {
        matches!(&self.file, Some(Description::Machine(machine)) if machine.backend == Backend::Virtual)
    }

    /// The same target booted with other words; `None` if it does not boot for each run, or lacks a word to remove.
    pub fn booted_with(&self, words: &BootWords) -> Option<Self> {
        self.changed(words, &[])
    }

    /// The same target whose boots also have these words and write these files; `None` as for [`Self::booted_with`].
    pub fn changed(&self, words: &BootWords, changes: &[SettingChange]) -> Option<Self> {
        let Some(Description::Machine(machine)) = &self.file else { return None };
        let machine = machine.changed(words, changes)?;
        Some(Self { name: self.name.clone(), file: Some(Description::Machine(machine.into())) })
    }

    /// The virtual machine that it is.
    ///
    /// # Errors
    /// [`TargetFileError::NoMachine`] for a target of another kind.
    pub fn virtual_machine(&self) -> Result<&VirtualMachine, TargetFileError> {
        let kind = match &self.file {
            Some(Description::Machine(machine)) => return Ok(machine),
            Some(Description::Board(_) | Description::Labgrid(_)) => "a board",
            None => "this machine",
        };
        Err(TargetFileError::NoMachine { name: self.name.clone(), kind })
    }

    /// Its host name, for the names of archives: that of this machine, or the name of the target.
    pub fn host_name(&self) -> String {
        if !self.is_local() {
            return self.name.clone();
        }
        let read = fs::read_to_string("/proc/sys/kernel/hostname");
        read.map_or_else(|_| "unknown".into(), |name| name.trim().to_owned())
    }

    /// The machine, which is not contacted, acquired or booted yet. It is used with `meter`, or with the meter of its
    /// own architecture. `access` sets how a board is accessed.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(&self, meter: &Path, access: AccessOptions, stop: StopRequests) -> Result<Box<dyn Target>, OpenError> {
        let name = &self.name;
        Ok(match &self.file {
            None => Box::new(LocalTarget),
            Some(Description::Board(board)) => {
                Box::new(BoardTarget::new(name, (**board).clone(), MeterPlaces::of_process(), access, stop))
            }
            Some(Description::Labgrid(place)) => {
                Box::new(LabgridTarget::new(name, (**place).clone(), MeterPlaces::of_process(), access, stop))
            }
            Some(Description::Machine(machine)) => match machine.backend {
                Backend::Qemu => Box::new(emulated(name, machine, meter, stop)?),
                Backend::Virtual => {
                    Box::new(VirtualTimeTarget::new(name, (**machine).clone(), meter, &kernel::cache()?))
                }
            },
        })
    }
}

/// A virtual machine with an ordinary clock, not booted yet. It is used with `meter`, or with the meter of its own
/// architecture.
///
/// # Errors
/// [`OpenError`].
pub fn emulated(
    name: &str,
    machine: &VirtualMachine,
    meter: &Path,
    stop: StopRequests,
) -> Result<QemuTarget, OpenError> {
    let cache = kernel::cache()?;
    let foreign = Architecture::of_host() != Some(machine.architecture);
    let meter = if foreign { MeterPlaces::of_process().find_for(machine.architecture)? } else { meter.to_owned() };
    Ok(QemuTarget::new(name, machine.clone(), &meter, &cache, stop))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_file(name: &str, text: &str) -> (tempfile::TempDir, TargetFiles) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(format!("{name}.toml")), text).unwrap();
        let files = TargetFiles { here: folder.path().to_owned(), own: None };
        (folder, files)
    }

    #[test]
    fn the_kind_of_a_target_comes_from_its_file() {
        let kinds = |text: &str| {
            let (_folder, files) = with_file("it", text);
            let target = KnownTarget::find_in(&files, "it").unwrap();
            (target.is_local(), target.is_board(), target.virtual_machine().is_ok(), target.is_in_virtual_time())
        };
        assert_eq!(kinds("backend = \"ssh\"\naddress = \"root@pi\"\n"), (false, true, false, false));
        assert_eq!(kinds("backend = \"labgrid\"\nplace = \"rack1\"\n"), (false, true, false, false));
        assert_eq!(kinds("backend = \"qemu\"\nkernel = \"/k\"\n"), (false, false, true, false));
        let exact = "backend = \"virtual\"\nkernel = \"/k\"\ncpus = 1\naccel = \"tcg\"\n";
        assert_eq!(kinds(exact), (false, false, true, true));
    }

    #[test]
    fn this_machine_needs_no_file_and_is_no_virtual_machine() {
        let files = TargetFiles { here: "/nowhere".into(), own: None };
        let target = KnownTarget::find_in(&files, "local").unwrap();
        assert_eq!(target, KnownTarget::local());
        assert!(target.is_local() && !target.is_board() && !target.is_in_virtual_time());
        let refused = target.virtual_machine().unwrap_err();
        assert!(matches!(refused, TargetFileError::NoMachine { kind: "this machine", .. }), "{refused}");
        assert!(
            target
                .open(Path::new("meter"), AccessOptions::default(), StopRequests::default())
                .unwrap()
                .is_this_machine()
        );
    }

    #[test]
    fn a_target_that_is_missing_or_cannot_be_read_is_an_error() {
        let (folder, files) = with_file("torn", "backend = \"ssh\"\naddress =");
        let find = |name: &str| KnownTarget::find_in(&files, name).unwrap_err();
        assert!(matches!(find("torn"), TargetFileError::Invalid { .. }));
        assert!(matches!(find("no-such-board"), TargetFileError::Missing(_)));
        assert!(matches!(find("../torn"), TargetFileError::Name(_)));
        fs::write(folder.path().join("binary.toml"), [0xff, 0xfe]).unwrap();
        assert!(matches!(find("binary"), TargetFileError::Unreadable { .. }));
    }
}
