//! When the calling thread had the CPU, by the kernel's performance events at each of its switches.
//!
//! CLOCK_THREAD_CPUTIME_ID cannot show it: a kernel that wakes a more urgent thread and switches to it later does not read
//! its clock for the switch, and books the time in between for the thread that had to wait.

use crate::performance::{Records, at_ns, own_switches, records};
use std::io;

/// Bytes of records that are kept until they are read: two thousand switches.
const BYTES: usize = 32 << 10;
const RECORD_SWITCH: u32 = 14;
/// Of a switch record: the thread was switched away from.
const SWITCHED_OUT: u16 = 1 << 13;

/// An instant at which the thread got the CPU or lost it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Switch {
    at_ns: i64,
    out: bool,
}

/// The switches of the thread that opened it.
pub struct Switches(Records);

impl Switches {
    pub fn open() -> io::Result<Self> {
        Ok(Self(own_switches(BYTES)?))
    }

    /// The parts of a stretch of CLOCK_MONOTONIC, up to now, in which the thread had the CPU; none when the kernel had no
    /// room to record them.
    pub fn held(&self, from_ns: i64, to_ns: i64) -> Vec<(i64, i64)> {
        match parse(&self.0.take()) {
            Some(switches) => stretches(&switches, from_ns, to_ns),
            None => Vec::new(),
        }
    }
}

/// The switches among records. `None` if the kernel says that some records are missing, or one is cut off.
fn parse(bytes: &[u8]) -> Option<Vec<Switch>> {
    let switches = records(bytes)?.into_iter().filter(|(kind, ..)| *kind == RECORD_SWITCH);
    switches
        .map(|(_, flags, content)| Some(Switch { at_ns: at_ns(content)?, out: flags & SWITCHED_OUT != 0 }))
        .collect()
}

/// Who asks has the CPU at `to_ns`; before its first switch it had it if that one was away from it.
fn stretches(switches: &[Switch], from_ns: i64, to_ns: i64) -> Vec<(i64, i64)> {
    let mut held = Vec::new();
    let mut since_ns = Some(from_ns);
    for switch in switches {
        match (switch.out, since_ns) {
            (true, Some(begin_ns)) => {
                held.push((begin_ns, switch.at_ns));
                since_ns = None;
            }
            (false, _) => since_ns = Some(switch.at_ns),
            (true, None) => {}
        }
    }
    held.extend(since_ns.map(|begin_ns| (begin_ns, to_ns)));
    held.iter()
        .map(|&(begin_ns, end_ns)| (begin_ns.max(from_ns), end_ns.min(to_ns)))
        .filter(|(begin_ns, end_ns)| begin_ns < end_ns)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{now_ns, sleep_until, spin_until};

    const OUT: bool = true;
    const IN: bool = false;

    fn held(switches: &[(i64, bool)], from_ns: i64, to_ns: i64) -> Vec<(i64, i64)> {
        let switches: Vec<Switch> = switches.iter().map(|&(at_ns, out)| Switch { at_ns, out }).collect();
        stretches(&switches, from_ns, to_ns)
    }

    #[test]
    fn an_injection_ends_where_its_thread_is_pushed_aside_and_not_where_it_reads_the_clock_again() {
        // It slept until 100, was woken, called the kernel from 110 on, and was pushed aside as the call was done.
        assert_eq!(held(&[(50, OUT), (100, IN), (900, OUT), (950, IN)], 110, 960), [(110, 900), (950, 960)]);
        // Another task had the CPU in the middle, too.
        let pushed_twice = [(300, OUT), (400, IN), (900, OUT), (950, IN)];
        assert_eq!(held(&pushed_twice, 110, 960), [(110, 300), (400, 900), (950, 960)]);
        assert_eq!(held(&[], 110, 960), [(110, 960)]);
    }

    #[test]
    fn records_are_read_as_far_as_they_go() {
        let record = |kind: u32, flags: u16, at_ns: i64| {
            let mut bytes = kind.to_ne_bytes().to_vec();
            bytes.extend([flags.to_ne_bytes(), 16u16.to_ne_bytes()].concat());
            bytes.extend(at_ns.to_ne_bytes());
            bytes
        };
        let out = record(RECORD_SWITCH, SWITCHED_OUT | 1, 7);
        let whole = [out.clone(), record(99, 0, 1), record(RECORD_SWITCH, 0, 9)].concat();
        let both = [Switch { at_ns: 7, out: OUT }, Switch { at_ns: 9, out: IN }];
        assert_eq!(parse(&whole).as_deref(), Some(&both[..]));
        assert_eq!(parse(&[out, record(2, 0, 1)].concat()), None);
        for length in 0..whole.len() {
            let _ = parse(&whole[..length]);
        }
        assert_eq!(parse(&[14, 0, 0, 0, 0, 0, 0, 0, 1]), None, "a length of nothing ends somewhere");
    }

    #[test]
    fn the_kernel_reports_a_sleep() {
        let switches = Switches::open();
        prerequisites::require!(Root, Kernel("performance events", switches.is_ok()));
        let switches = switches.expect("an event");
        let begin_ns = now_ns();
        spin_until(begin_ns + 200_000);
        let asleep_ns = now_ns();
        sleep_until(asleep_ns + 2_000_000);
        let awake_ns = now_ns();
        let held = switches.held(begin_ns, awake_ns);
        assert!(held.len() >= 2, "{held:?}");
        let in_sleep = |at_ns: i64| held.iter().any(|&(from_ns, to_ns)| from_ns <= at_ns && at_ns < to_ns);
        assert!(!in_sleep(asleep_ns + 1_000_000), "{held:?}");
        assert!(held.last().is_some_and(|&(_, to_ns)| to_ns == awake_ns), "{held:?}");
        let again_ns = now_ns();
        assert!(switches.held(again_ns, now_ns() + 1).iter().all(|&(from_ns, _)| from_ns >= again_ns));
    }
}
