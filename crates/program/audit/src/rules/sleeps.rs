//! Sleeps that drift, and sleeps by a clock that others set.

use super::{Rule, Sight, Subject};
use crate::activity::Call;

pub const WALL_CLOCK: Rule = Rule {
    name: "wall-clock",
    title: "sleeps by the wall clock",
    why: "CLOCK_REALTIME jumps when it is set, by NTP or by hand: the sleep ends too early or hours late.",
    instead: "Use CLOCK_MONOTONIC: in clock_nanosleep, and for condition variables with pthread_condattr_setclock.",
};

pub const RELATIVE: Rule = Rule {
    name: "relative-sleep",
    title: "sleeps for a time and not until an instant",
    why: "A period counted from the end of the work drifts by what the work took. Where the rest of the period is computed, the time from reading the clock to the call, and all that preempts the thread meanwhile, makes the wake-up late.",
    instead: "Add the period to the last due instant and sleep with clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME).",
};

const REALTIME: u64 = 0;
const TAI: u64 = 11;
const ABSOLUTE: u64 = 1;
/// FUTEX_CLOCK_REALTIME.
const FUTEX_REALTIME: u64 = 0x100;
const FUTEX_WAIT_BITSET: u64 = 9;

pub fn check<'a>(subject: &Subject<'a>) -> impl Iterator<Item = Sight<'a>> {
    subject.calls().flat_map(|call| sights(subject.name_of(call), call))
}

fn sights<'a>(name: &'static str, call: &'a Call) -> Vec<Sight<'a>> {
    let [first, second, _, fourth, ..] = call.arguments;
    // The time of the sleep itself was asked for, so it is no cost.
    let sight = |rule, what: &str| Sight { worst_ns: None, ..Sight::of_call(rule, call, what.to_owned()) };
    match name {
        "clock_nanosleep" | "clock_nanosleep_time64" => {
            let wall = matches!(first, REALTIME | TAI) && second & ABSOLUTE != 0;
            let mut sights = Vec::new();
            if wall {
                sights.push(sight(&WALL_CLOCK, name));
            }
            if second & ABSOLUTE == 0 {
                sights.push(sight(&RELATIVE, name));
            }
            sights
        }
        "nanosleep" => vec![sight(&RELATIVE, name)],
        "futex" | "futex_time64" => {
            let by_wall = second & FUTEX_REALTIME != 0 && second & 0x7f == FUTEX_WAIT_BITSET && fourth != 0;
            if by_wall {
                vec![sight(&WALL_CLOCK, "a wait with a time limit, as pthread_cond_timedwait")]
            } else {
                Vec::new()
            }
        }
        _ => Vec::new(),
    }
}
