//! The changes that each step takes on a machine.

use super::group::{self, ForeignMembers, Group};
use super::owned::{Planned, below, directories, file};
use super::texts;
use crate::journal::setup::places::{DMA_LATENCY, LIMITS, OWNERS, OWNERS_ORDER, TRACE_INSTANCES, TRACING_MOUNT};
use crate::journal::setup::{access, program};
use crate::kernel::capability;
use archive::setup::{
    Access, Capability, Hindrance, METER_PATH, SetupChange, SetupRequest, SetupStep, StepReport, StepState, TRACEFS,
};
use rustix::fs::{StatVfsMountFlags, statvfs};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const DIRECTORY_MODE: u32 = 0o750;
const DEVICE_MODE: u32 = 0o660;
/// Root changes the meter, the group executes it, and nobody else reads it.
const METER_MODE: u32 = 0o750;

/// A machine, and the user who is to measure there.
#[derive(Debug)]
pub struct Machine<'a> {
    root: &'a Path,
    uid: u32,
    capabilities: Vec<Capability>,
    group: Group,
}

impl<'a> Machine<'a> {
    /// # Errors
    /// [`ForeignMembers`].
    pub fn of(root: &'a Path, request: &SetupRequest) -> Result<Self, ForeignMembers> {
        let group = group::planned(root, &request.user)?;
        Ok(Self { root, uid: request.uid, capabilities: wanted(request.stacks), group })
    }

    pub fn planned(&self, step: SetupStep) -> StepReport {
        let planned = match step {
            SetupStep::Group => Ok(self.group.changes.clone()),
            SetupStep::Limits => self.limits(),
            SetupStep::Tracing => self.tracing(),
            SetupStep::TraceInstances => self.access(TRACE_INSTANCES, self.instances()),
            SetupStep::IdleStates => self.access(DMA_LATENCY, self.device()),
            SetupStep::Meter => self.meter(),
            SetupStep::AfterBoot => self.after_boot(),
        };
        let state = match planned {
            Ok(changes) if changes.is_empty() => StepState::Done,
            Ok(changes) => StepState::Needed(changes),
            Err(hindrance) => StepState::Hindered(hindrance),
        };
        StepReport { step, state }
    }

    fn tracefs(&self) -> Access {
        Access { uid: 0, gid: self.group.gid, mode: DIRECTORY_MODE }
    }

    /// An instance and its files have the owner of this directory.
    fn instances(&self) -> Access {
        Access { uid: self.uid, gid: self.group.gid, mode: DIRECTORY_MODE }
    }

    fn device(&self) -> Access {
        Access { uid: 0, gid: self.group.gid, mode: DEVICE_MODE }
    }

    /// Where pam_limits is missing, nothing reads the file.
    fn limits(&self) -> Planned {
        let folder = Path::new(LIMITS).parent().unwrap_or(Path::new("/"));
        if !below(self.root, folder).is_dir() {
            return Err(Hindrance::Missing { path: folder.to_owned() });
        }
        file(self.root, LIMITS, &texts::limits())
    }

    fn tracing(&self) -> Planned {
        let path = below(self.root, Path::new(TRACEFS));
        if !path.join("instances").is_dir() && fs::read_dir(&path).is_ok() {
            return Err(Hindrance::Missing { path: TRACE_INSTANCES.into() });
        }
        let before = read(self.root, TRACEFS)?;
        let change = |after| {
            let others = files_of_other_groups(&path, before.gid);
            SetupChange::TraceMount { path: TRACEFS.into(), before, after, others }
        };
        let after = self.tracefs();
        Ok((before != after).then(|| change(after)).into_iter().collect())
    }

    fn access(&self, path: &str, after: Access) -> Planned {
        let before = read(self.root, path)?;
        let change = SetupChange::Access { path: path.into(), before, after };
        Ok((before != after).then_some(change).into_iter().collect())
    }

    fn meter(&self) -> Planned {
        let path = Path::new(METER_PATH);
        let here = below(self.root, path);
        let access = Access { uid: 0, gid: self.group.gid, mode: METER_MODE };
        let installed = match program::is_installed(&here, access, &self.capabilities) {
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            read => read.map_err(|_| Hindrance::Hidden { path: path.to_owned() })?,
        };
        if installed {
            return Ok(Vec::new());
        }
        let folder = path.ancestors().skip(1).map(|path| below(self.root, path)).find(|path| path.is_dir());
        let ignores =
            |path: PathBuf| statvfs(&path).is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::NOSUID));
        if folder.is_some_and(ignores) {
            return Err(Hindrance::NoCapabilities { path: path.to_owned() });
        }
        let copy = SetupChange::Program { path: path.to_owned(), access, capabilities: self.capabilities.clone() };
        Ok(directories(self.root, path).into_iter().chain([copy]).collect())
    }

    fn after_boot(&self) -> Planned {
        if !below(self.root, Path::new("/run/systemd/system")).is_dir() {
            return Err(Hindrance::NoSystemd);
        }
        let mut changes = file(self.root, TRACING_MOUNT, &texts::tracing_mount(self.tracefs()))?;
        changes.extend(file(self.root, OWNERS, &texts::owners(self.instances(), self.device()))?);
        changes.extend(file(self.root, OWNERS_ORDER, &texts::owners_order())?);
        Ok(changes)
    }
}

/// The kernel refuses to execute a file with a capability that this boot or container dropped.
fn wanted(stacks: bool) -> Vec<Capability> {
    let all = [Capability::IpcLock, Capability::SysNice].into_iter().chain(stacks.then_some(Capability::Perfmon));
    all.filter(|wanted| !capability::is_dropped(Path::new("/"), *wanted as u32)).collect()
}

fn read(root: &Path, path: &str) -> Result<Access, Hindrance> {
    access::read(&below(root, Path::new(path))).map_err(|error| hindrance(path, &error))
}

fn hindrance(path: &str, error: &io::Error) -> Hindrance {
    match error.kind() {
        ErrorKind::NotFound => Hindrance::Missing { path: path.into() },
        _ => Hindrance::Hidden { path: path.into() },
    }
}

/// Files below a directory with another group than it has.
fn files_of_other_groups(path: &Path, gid: u32) -> BTreeMap<PathBuf, u32> {
    let mut others = BTreeMap::new();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(found) = entry.metadata() else { continue };
            if found.gid() != gid {
                others.insert(entry.path(), found.gid());
            }
            if found.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(folders: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        folders.iter().for_each(|folder| fs::create_dir_all(root.path().join(folder)).unwrap());
        root
    }

    fn planned(root: &tempfile::TempDir, step: SetupStep) -> StepState {
        let request = SetupRequest { user: "me".into(), uid: 1000, stacks: false, apply: false };
        Machine::of(root.path(), &request).unwrap().planned(step).state
    }

    #[test]
    fn each_boot_of_systemd_gives_the_same_access_again() {
        let root = machine(&["run/systemd/system", "etc/tmpfiles.d", "etc/systemd/system"]);
        let StepState::Needed(changes) = planned(&root, SetupStep::AfterBoot) else { panic!("nothing to change") };
        let text = |path: &str| {
            let written = changes.iter().find_map(|change| match change {
                SetupChange::File { path: found, text } if found == Path::new(path) => Some(text.clone()),
                _ => None,
            });
            written.unwrap_or_else(|| panic!("no {path}: {changes:?}"))
        };
        assert!(text(TRACING_MOUNT).ends_with("[Mount]\nOptions=nosuid,nodev,noexec,gid=999,mode=0750\n"));
        let owners = "z /sys/kernel/tracing/instances 0750 1000 999 -\nz /dev/cpu_dma_latency 0660 0 999 -\n";
        assert!(text(OWNERS).ends_with(owners), "{}", text(OWNERS));
        assert!(text(OWNERS_ORDER).ends_with("After=sys-kernel-tracing.mount\n"));
        let folders = changes.iter().filter(|change| matches!(change, SetupChange::Directory { .. })).count();
        assert_eq!(folders, 2, "{changes:?}");
        assert_eq!(planned(&machine(&[]), SetupStep::AfterBoot), StepState::Hindered(Hindrance::NoSystemd));
    }

    #[test]
    fn a_file_of_another_program_is_not_replaced() {
        let root = machine(&["etc/security/limits.d"]);
        assert!(matches!(planned(&root, SetupStep::Limits), StepState::Needed(_)));
        fs::write(root.path().join(&LIMITS[1..]), "@audio - rtprio 95\n").unwrap();
        let foreign = Hindrance::ForeignFile { path: LIMITS.into() };
        assert_eq!(planned(&root, SetupStep::Limits), StepState::Hindered(foreign));
    }

    #[test]
    fn a_missing_feature_is_a_hindrance_and_not_done() {
        let root = machine(&[]);
        for step in [SetupStep::Limits, SetupStep::Tracing, SetupStep::TraceInstances, SetupStep::IdleStates] {
            let state = planned(&root, step);
            assert!(matches!(state, StepState::Hindered(Hindrance::Missing { .. })), "{step:?}: {state:?}");
        }
    }
}
