//! The texts of the files that a setup writes.

use crate::journal::setup::places::{DMA_LATENCY, TRACE_INSTANCES};
use archive::setup::{Access, GROUP};

const HEAD: &str = "# Written by `tardy setup`; `tardy setup --undo` removes it.\n";
/// Below the kernel's own threads of priority 99.
const PRIORITY_MAX: u8 = 95;

pub fn limits() -> String {
    format!("{HEAD}@{GROUP} - rtprio {PRIORITY_MAX}\n@{GROUP} - memlock unlimited\n")
}

/// systemd's own options, and the group.
pub fn tracing_mount(access: Access) -> String {
    let Access { gid, mode, .. } = access;
    format!("{HEAD}[Mount]\nOptions=nosuid,nodev,noexec,gid={gid},mode={mode:04o}\n")
}

pub fn owners(instances: Access, device: Access) -> String {
    let line = |path: &str, Access { uid, gid, mode }: Access| format!("z {path} {mode:04o} {uid} {gid} -\n");
    format!("{HEAD}{}{}", line(TRACE_INSTANCES, instances), line(DMA_LATENCY, device))
}

pub fn owners_order() -> String {
    format!("{HEAD}[Unit]\nAfter=sys-kernel-tracing.mount\n")
}
