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
