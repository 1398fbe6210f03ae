//! The instants that show what the kernel charged the threads of a CPU for: switches, charges and wake-ups; and, because some kernels record no
//! event of the idle task outside of interrupts and so lack switches away from it, the first record of a thread to which no switch is
//! recorded.

use crate::read::event::{Event, EventKind};
use crate::replay::timeline::inferred::{Inference, Inferred};

/// A switch takes at most this long: from the charge that it makes before its record, and to the last record that names the thread before it.
pub const SWITCHING_NS_MAX: i64 = 5_000;

/// An update of the kernel's task clock at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charge {
    pub ts_ns: i64,
    /// The running thread on the CPU of the record, which may charge a thread of another CPU.
    pub by_tid: i32,
    pub what: ChargeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChargeKind {
    /// The CPU continues with this thread.
    Switch {
        next: i32,
    },
    /// The CPU has continued with this thread, at the latest now.
    Seen {
        tid: i32,
    },
    Runtime {
        tid: i32,
        ran_ns: i64,
    },
    /// A thread becomes runnable on a CPU, whose clock is read for that.
    Wakeup {
        target_cpu: i32,
    },
    /// Records are missing.
    Lost,
}

/// Collects them from the records of a CPU.
#[derive(Debug, Default)]
pub struct ChargePoints {
    points: Vec<Charge>,
    on_cpu: Option<OnCpu>,
}

/// Last record of the thread on the CPU.
#[derive(Debug, Clone, Copy)]
struct OnCpu {
    tid: i32,
    /// The thread before it, and when that one left.
    left: Option<(i32, i64)>,
}

impl OnCpu {
    fn is_left_by(&self, event: &Event<'_>) -> bool {
        self.left.is_some_and(|(tid, at_ns)| tid == event.tid && event.ts_ns.saturating_sub(at_ns) <= SWITCHING_NS_MAX)
    }
}

impl ChargePoints {
    #[inline]
    pub fn feed(&mut self, event: &Event<'_>) {
        match self.on_cpu {
            Some(on_cpu) if on_cpu.tid == event.tid || on_cpu.is_left_by(event) => {}
            Some(_) => {
                self.push(event, ChargeKind::Seen { tid: event.tid });
                self.on_cpu = Some(OnCpu { tid: event.tid, left: None });
            }
            None => self.on_cpu = Some(OnCpu { tid: event.tid, left: None }),
        }
        match event.what {
            EventKind::Switch { next, .. } => {
                self.push(event, ChargeKind::Switch { next });
                self.on_cpu = Some(OnCpu { tid: next, left: Some((event.tid, event.ts_ns)) });
            }
            EventKind::Runtime { tid, ran_ns } => self.push(event, ChargeKind::Runtime { tid, ran_ns }),
            EventKind::Wakeup { target_cpu, .. } => self.push(event, ChargeKind::Wakeup { target_cpu }),
            _ => {}
        }
    }

    fn push(&mut self, event: &Event<'_>, what: ChargeKind) {
        self.points.push(Charge { ts_ns: event.ts_ns, by_tid: event.tid, what });
    }

    /// Records are missing before `ts_ns`.
    pub fn lose(&mut self, ts_ns: i64) {
        self.points.push(Charge { ts_ns, by_tid: 0, what: ChargeKind::Lost });
        self.on_cpu = None;
    }

    /// All of them, ascending, with those instants at which the meter saw the measuring thread on the CPU.
    pub fn finish(mut self, inferred: &[Inferred]) -> Vec<Charge> {
        for one in inferred.iter().filter(|one| one.from == Inference::OwnWasSeen) {
            let at = self.points.partition_point(|charge| charge.ts_ns <= one.start_ns);
            let what = ChargeKind::Seen { tid: one.tid };
            self.points.insert(at, Charge { ts_ns: one.start_ns, by_tid: one.tid, what });
        }
        self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(ts_us: i64, tid: i32, what: EventKind) -> Event<'static> {
        Event { ts_ns: ts_us * 1000, cpu: 0, tid, flags: 0, depth: 0, what, id: 0, payload: &[] }
    }

    fn switch(ts_us: i64, prev: i32, next: i32) -> Event<'static> {
        event(ts_us, prev, EventKind::Switch { prev, prev_prio: Some(120), prev_state: 0, next, next_prio: Some(120) })
    }

    fn points_us(events: &[Event]) -> Vec<(i64, ChargeKind)> {
        let mut points = ChargePoints::default();
        events.iter().for_each(|event| points.feed(event));
        points.finish(&[]).iter().map(|one| (one.ts_ns / 1000, one.what)).collect()
    }

    #[test]
    fn a_thread_without_a_recorded_switch_is_seen_with_its_first_record() {
        let fault = EventKind::SoftirqEntry { vec: 1 };
        let points = points_us(&[switch(10, 7, 0), event(500, 7, fault), event(600, 7, fault)]);
        assert_eq!(points, [(10, ChargeKind::Switch { next: 0 }), (500, ChargeKind::Seen { tid: 7 })]);
    }

    #[test]
    fn what_a_cpu_records_during_a_switch_shows_no_other_thread() {
        let flush = EventKind::SoftirqEntry { vec: 1 };
        assert_eq!(points_us(&[switch(10, 7, 8), event(12, 7, flush)]), [(10, ChargeKind::Switch { next: 8 })]);
    }

    #[test]
    fn a_charge_alone_shows_its_thread() {
        let charge = EventKind::Runtime { tid: 7, ran_ns: 5 };
        let seen = (500, ChargeKind::Seen { tid: 7 });
        let points = points_us(&[switch(10, 7, 0), event(500, 7, charge), switch(501, 7, 0)]);
        assert_eq!(points[1..3], [seen, (500, ChargeKind::Runtime { tid: 7, ran_ns: 5 })]);
        assert_eq!(points.len(), 4);
    }
}
