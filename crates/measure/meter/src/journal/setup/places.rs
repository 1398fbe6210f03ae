//! The files that a setup changes: a journal undoes nothing elsewhere.

use archive::setup::{METER_PATH, SetupChange, TRACEFS};
use std::path::Path;

pub const GROUPS: &str = "/etc/group";
pub const GROUP_SHADOWS: &str = "/etc/gshadow";
pub const LIMITS: &str = "/etc/security/limits.d/95-tardy.conf";
/// Options of the trace file system that systemd mounts.
pub const TRACING_MOUNT: &str = "/etc/systemd/system/sys-kernel-tracing.mount.d/tardy.conf";
/// Owners of files that each boot makes.
pub const OWNERS: &str = "/etc/tmpfiles.d/tardy.conf";
/// Orders the owners after the mount.
pub const OWNERS_ORDER: &str = "/etc/systemd/system/systemd-tmpfiles-setup.service.d/tardy.conf";
pub const TRACE_INSTANCES: &str = "/sys/kernel/tracing/instances";
pub const DMA_LATENCY: &str = "/dev/cpu_dma_latency";

const FILES: [&str; 4] = [LIMITS, TRACING_MOUNT, OWNERS, OWNERS_ORDER];

/// Whether a setup makes such a change.
pub fn may_have(change: &SetupChange) -> bool {
    let path = change.path();
    let is_one_of = |places: &[&str]| places.iter().any(|place| Path::new(place) == path);
    match change {
        SetupChange::Line { .. } => is_one_of(&[GROUPS, GROUP_SHADOWS]),
        SetupChange::Directory { .. } => FILES
            .iter()
            .chain([&METER_PATH])
            .any(|file| Path::new(file).parent().is_some_and(|at| at.starts_with(path))),
        SetupChange::File { .. } => is_one_of(&FILES),
        SetupChange::Program { .. } => is_one_of(&[METER_PATH]),
        SetupChange::Access { .. } => is_one_of(&[TRACE_INSTANCES, DMA_LATENCY]),
        SetupChange::TraceMount { .. } => is_one_of(&[TRACEFS]),
    }
}

#[cfg(test)]
mod tests {
    use super::super::undo;
    use super::*;
    use crate::journal::UndoError;
    use archive::setup::Access;
    use std::collections::BTreeMap;

    #[test]
    fn a_setup_is_undone_in_its_own_files_alone() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("file");
        std::fs::write(&path, "text").unwrap();
        let access = Access { uid: 0, gid: 0, mode: 0 };
        let through = |name: &str| Path::new(name).parent().unwrap().join("..").join(path.strip_prefix("/").unwrap());
        for path in [path.clone(), through("/etc/group"), "/etc/passwd".into(), "/etc".into(), "/dev/mem".into()] {
            let changes = [
                SetupChange::Line { path: path.clone(), before: None, after: "root".into() },
                SetupChange::File { path: path.clone(), text: "text".into() },
                SetupChange::Program { path: path.clone(), gid: 0, capabilities: 0 },
                SetupChange::Access { path: path.clone(), before: access, after: access },
                SetupChange::TraceMount { path, before: access, after: access, others: BTreeMap::new() },
            ];
            for change in changes {
                assert!(matches!(undo(&change), Err(UndoError::NotOfSetup { .. })), "{change:?}");
            }
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "text");
    }
}
