//! The alarm above figures of a clock that no hardware has.

use crate::terminal::page::Page;

/// The alarm about figures that are not times of hardware.
pub fn clock_alarm(virtual_time: bool, emulated: bool) -> Option<&'static str> {
    match (virtual_time, emulated) {
        (true, _) => {
            Some("VIRTUAL TIME: these figures count executed instructions; they prove no deadline of hardware.")
        }
        (false, true) => Some("EMULATED MACHINE: these latencies mean nothing as real-time figures."),
        (false, false) => None,
    }
}

/// The same above figures.
pub fn alarm_of_clock(virtual_time: bool, emulated: bool, page: &mut Page) {
    if let Some(alarm) = clock_alarm(virtual_time, emulated) {
        page.alarm(alarm);
    }
}
