//! Scenes for tests that depend only on when a CPU recorded something.

use super::{CpuActivity, Trace};
use crate::read::event::{Event, EventKind};
use crate::read::names::Names;
use crate::read::window::Window;

const US: i64 = 1000;

/// CPUs by number, each with events at these µs; due at 0 and seen at `seen_us`.
pub fn trace(cpus: &[(u32, &[i64])], seen_us: i64) -> Trace<'static> {
    let activity = |&(cpu, events_us): &(u32, &[i64])| {
        let event = |&at_us: &i64| Event {
            ts_ns: at_us.saturating_mul(US),
            cpu,
            tid: 0,
            flags: 0,
            depth: 0,
            what: EventKind::Stack,
            id: 0,
            payload: &[],
        };
        CpuActivity { cpu, events: events_us.iter().map(event).collect(), ..CpuActivity::default() }
    };
    let window = Window {
        due_ns: 0,
        seen_ns: seen_us * US,
        start_ns: -5000 * US,
        end_ns: (seen_us + 1000) * US,
        lookback_ns: 0,
    };
    Trace::new(window, cpus.iter().map(activity).collect(), Names::default(), false)
}
