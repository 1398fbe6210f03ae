//! Stretches in which a CPU recorded nothing: the hypervisor may not have executed it.

use crate::replay::trace::{CpuActivity, Stamp};

/// Less can result from reading the two clocks at different instants, and an executed CPU can be silent for as long.
pub const STOLEN_NS_MIN: i64 = 20_000;

/// A stretch in which a CPU recorded nothing.
#[derive(Debug, Clone, Copy)]
pub struct Silence {
    pub start_ns: i64,
    pub end_ns: i64,
    pub interrupted: bool,
    /// It ends with the entry of an interrupt.
    pub ends_interrupted: bool,
}

/// The silences of a CPU that are long enough to matter, ascending.
pub fn silences(activity: &CpuActivity) -> Vec<Silence> {
    let stamps = activity.stamps_before.iter().copied().chain(activity.events.iter().map(Stamp::of));
    let mut last: Option<Stamp> = None;
    let mut found = Vec::new();
    for stamp in stamps {
        if let Some(before) = last.replace(stamp)
            && stamp.ts_ns - before.ts_ns >= STOLEN_NS_MIN
        {
            let (start_ns, end_ns) = (before.ts_ns, stamp.ts_ns);
            let interrupted = before.interrupted;
            found.push(Silence { start_ns, end_ns, interrupted, ends_interrupted: stamp.interrupted });
        }
    }
    found
}
