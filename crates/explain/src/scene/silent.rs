//! Scenes for tests that ask only when a CPU recorded something.

use super::{CpuStory, Scene};
use crate::event::{Event, What};
use crate::names::Names;
use crate::window::Window;

const US: i64 = 1000;

/// CPUs by number, each with events at these µs; due at 0 and seen so many µs later.
pub fn scene(cpus: &[(u32, &[i64])], seen_us: i64) -> Scene<'static> {
    let story = |&(cpu, events_us): &(u32, &[i64])| {
        let event = |&at_us: &i64| Event {
            ts_ns: at_us.saturating_mul(US),
            cpu,
            tid: 0,
            flags: 0,
            depth: 0,
            what: What::Stack,
            id: 0,
            payload: &[],
        };
        CpuStory { cpu, events: events_us.iter().map(event).collect(), ..CpuStory::default() }
    };
    let window = Window {
        due_ns: 0,
        seen_ns: seen_us * US,
        start_ns: -5000 * US,
        end_ns: (seen_us + 1000) * US,
        lookback_ns: 0,
    };
    Scene {
        window,
        cpus: cpus.iter().map(story).collect(),
        names: Names::default(),
        caveats: Vec::new(),
        outside: false,
    }
}
