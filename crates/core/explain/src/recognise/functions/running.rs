//! The running thread of a CPU from record to record, and where that record breaks off.

use crate::read::event::{Event, EventKind, flag};
use crate::replay::trace::{CpuActivity, LostRecords};

/// How an event continues from the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Continuity {
    /// The same thread, or the one that a recorded switch started.
    Whole,
    /// The kernel reports the new thread only at the end of a switch; functions before that are recorded for the old
    /// one.
    SwitchTail,
    /// Records are missing in between: earlier records prove nothing about the present.
    Broken,
}

/// Follows the events of one CPU.
#[derive(Debug)]
pub struct Running<'s> {
    tid: i32,
    /// The thread that was switched out for `tid`, until an event of `tid` occurs.
    giving_way: Option<i32>,
    /// Gaps in the record that are still ahead.
    lost_records: &'s [LostRecords],
}

impl<'s> Running<'s> {
    pub fn new(activity: &'s CpuActivity<'s>) -> Self {
        Self {
            tid: activity.events.first().map_or(0, runner_of),
            giving_way: None,
            lost_records: &activity.lost_records,
        }
    }

    /// The running thread after the last event.
    pub fn tid(&self) -> i32 {
        self.tid
    }

    pub fn pass(&mut self, event: &Event) -> Continuity {
        let passed = match self.lost_records.first() {
            Some(next) if next.ts_ns <= event.ts_ns => {
                self.lost_records.partition_point(|lost| lost.ts_ns <= event.ts_ns)
            }
            _ => 0,
        };
        self.lost_records = &self.lost_records[passed..];
        let tid = runner_of(event);
        let continuity = if passed > 0 {
            Continuity::Broken
        } else if tid == self.tid {
            Continuity::Whole
        } else if self.giving_way == Some(tid) && event.is_function() && event.flags & flag::IRQS_OFF != 0 {
            return Continuity::SwitchTail;
        } else {
            Continuity::Broken
        };
        (self.tid, self.giving_way) = match event.what {
            EventKind::Switch { next, .. } => (next, Some(tid)),
            _ => (tid, None),
        };
        continuity
    }
}

/// The running thread before this event.
fn runner_of(event: &Event) -> i32 {
    match event.what {
        EventKind::Switch { prev, .. } => prev,
        _ => event.tid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::trace::LostRecords;

    fn event(ts_ns: i64, tid: i32, flags: u8, what: EventKind) -> Event<'static> {
        Event { ts_ns, cpu: 0, tid, flags, depth: 0, what, id: 0, payload: &[] }
    }

    fn function(ts_ns: i64, tid: i32, flags: u8) -> Event<'static> {
        event(ts_ns, tid, flags, EventKind::Function { function: 1, caller: 2 })
    }

    fn continuities(activity: &CpuActivity) -> Vec<Continuity> {
        let mut running = Running::new(activity);
        activity.events.iter().map(|event| running.pass(event)).collect()
    }

    #[test]
    fn a_switch_that_was_not_recorded_is_a_break_also_with_interrupts_off() {
        let events = vec![function(10, 7, 0), function(20, 8, flag::IRQS_OFF), function(30, 8, flag::IRQS_OFF)];
        let activity = CpuActivity { events, ..CpuActivity::default() };
        assert_eq!(continuities(&activity), [Continuity::Whole, Continuity::Broken, Continuity::Whole]);
    }

    #[test]
    fn the_tail_of_a_switch_is_the_new_threads() {
        let switch = EventKind::Switch { prev: 7, prev_prio: Some(120), prev_state: 0, next: 8, next_prio: Some(120) };
        let events = vec![
            event(10, 7, flag::IRQS_OFF, switch),
            function(20, 7, flag::IRQS_OFF),
            function(30, 8, flag::IRQS_OFF),
            function(40, 7, flag::IRQS_OFF),
        ];
        let activity = CpuActivity { events, ..CpuActivity::default() };
        let expected = [Continuity::Whole, Continuity::SwitchTail, Continuity::Whole, Continuity::Broken];
        assert_eq!(continuities(&activity), expected);
    }

    #[test]
    fn a_hole_is_a_break_whichever_task_runs_after_it() {
        let events = vec![function(10, 7, 0), function(30, 7, 0), function(40, 7, 0)];
        let activity =
            CpuActivity { events, lost_records: vec![LostRecords { ts_ns: 30, lost: None }], ..CpuActivity::default() };
        assert_eq!(continuities(&activity), [Continuity::Whole, Continuity::Broken, Continuity::Whole]);
    }
}
