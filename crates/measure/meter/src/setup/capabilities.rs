//! The capabilities of the meter's copy.

use std::fs;

/// Locked memory.
const IPC_LOCK: u32 = 14;
/// Real-time policies and priorities.
const SYS_NICE: u32 = 23;
/// Perf events of the kernel, also for programs of other users.
const PERFMON: u32 = 38;

/// As a set of bits. The kernel refuses to execute a file with a capability that this boot or container dropped.
pub fn wanted(stacks: bool) -> u64 {
    let all = 1 << IPC_LOCK | 1 << SYS_NICE | if stacks { 1 << PERFMON } else { 0 };
    all & bounding_set().unwrap_or(all)
}

fn bounding_set() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let text = status.lines().find_map(|line| line.strip_prefix("CapBnd:"))?;
    u64::from_str_radix(text.trim(), 16).ok()
}
