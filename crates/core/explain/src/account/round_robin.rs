//! Turns of an emulator that executes all CPUs of its guest in one thread: while one CPU records, no other is executed.
//!
//! The trace alone shows the turns; the host has to report that the emulator is of this kind. A CPU that records
//! nothing for a while may have given up its turn meanwhile, so only time between records that are close together
//! belongs to a turn.

use crate::account::vcpu_absences::{AbsenceCause, PlacedAbsence};
use crate::read::event::Event;
use crate::replay::trace::{CpuActivity, Trace};
use archive::explanation::Confidence;

/// Maximum distance between two records of one turn.
const PAUSE_NS_MAX: i64 = 100_000;
/// A shorter turn does not delay a wake-up noticeably.
const TURN_NS_MIN: i64 = 10_000;

/// Turns of other CPUs while one recorded nothing, between due and seen, in order of time.
pub fn of_others(cpu: u32, trace: &Trace) -> Vec<PlacedAbsence> {
    let Some(own) = trace.cpu(cpu) else { return Vec::new() };
    let mut found: Vec<PlacedAbsence> = Vec::new();
    for other in trace.cpus.iter().filter(|other| other.cpu != cpu) {
        found.extend(turns(other, own, trace));
    }
    found.sort_by_key(|one| (one.start_ns, one.end_ns));
    found
}

/// The turns of one CPU that fall into a gap in the record of another.
fn turns(other: &CpuActivity, own: &CpuActivity, trace: &Trace) -> Vec<PlacedAbsence> {
    let window = trace.window;
    let first = other.events.partition_point(|event| event.ts_ns < window.due_ns);
    let last = other.events.partition_point(|event| event.ts_ns <= window.seen_ns);
    let events = other.events.get(first..last).unwrap_or_default();
    let own_events_before = |event: &Event| own.events.partition_point(|own| own.ts_ns <= event.ts_ns);
    let is_one_turn = |before: &Event, after: &Event| {
        after.ts_ns - before.ts_ns <= PAUSE_NS_MAX && own_events_before(before) == own_events_before(after)
    };
    let turn = |events: &[Event]| {
        let (start_ns, end_ns) = (events.first()?.ts_ns, events.last()?.ts_ns);
        let cause = AbsenceCause::OtherCpuExecuted { of: other.cpu, events: events.len() };
        let long_enough = end_ns.saturating_sub(start_ns) >= TURN_NS_MIN;
        (long_enough && is_recorded(own, start_ns, end_ns)).then_some(PlacedAbsence {
            cpu: own.cpu,
            start_ns,
            end_ns,
            cause,
            confidence: Confidence::Certain,
        })
    };
    events.chunk_by(is_one_turn).filter_map(turn).collect()
}

/// Whether the CPU would have recorded its activity between two instants: where its record is overwritten or lost,
/// missing events prove nothing.
fn is_recorded(own: &CpuActivity, start_ns: i64, end_ns: i64) -> bool {
    let next = own.events.partition_point(|event| event.ts_ns <= start_ns);
    let at = |index: usize| own.events.get(index).map(|event| event.ts_ns);
    let before_ns = next.checked_sub(1).and_then(at);
    let after_ns = at(next).unwrap_or(end_ns);
    let covered = before_ns.is_some() || own.intervals.first().is_some_and(|first| first.start_ns <= start_ns);
    let from_ns = before_ns.unwrap_or(start_ns);
    covered && !own.lost_records.iter().any(|lost| (from_ns..=after_ns).contains(&lost.ts_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::trace::idle_cpus;
    use proptest::prelude::*;

    const US: i64 = 1000;

    /// Events of the CPUs at these µs; due at 0, seen at 10 ms.
    fn trace(cpus: &[&[i64]]) -> Trace<'static> {
        let numbered: Vec<(u32, &[i64])> = (0..).zip(cpus.iter().copied()).collect();
        idle_cpus::trace(&numbered, 10_000)
    }

    fn of_cpu_0(cpus: &[&[i64]]) -> Vec<(i64, i64, AbsenceCause)> {
        of_others(0, &trace(cpus)).into_iter().map(|one| (one.start_ns / US, one.end_ns / US, one.cause)).collect()
    }

    #[test]
    fn while_another_cpu_records_this_one_is_not_executed() {
        let found = of_cpu_0(&[&[-10, 100, 900], &[110, 150, 200, 250, 920]]);
        assert_eq!(found, [(110, 250, AbsenceCause::OtherCpuExecuted { of: 1, events: 4 })]);
    }

    #[test]
    fn a_record_of_its_own_ends_the_turn_of_another() {
        let turn = |events| AbsenceCause::OtherCpuExecuted { of: 1, events };
        assert_eq!(of_cpu_0(&[&[50, 150], &[100, 140, 160, 200]]), [(100, 140, turn(2)), (160, 200, turn(2))]);
    }

    #[test]
    fn nothing_is_said_of_time_in_which_nobody_recorded() {
        let turn = |events| AbsenceCause::OtherCpuExecuted { of: 1, events };
        assert_eq!(of_cpu_0(&[&[0], &[100, 150, 4000, 4050]]), [(100, 150, turn(2)), (4000, 4050, turn(2))]);
        assert_eq!(of_cpu_0(&[&[0], &[100, 4000, 4005]]), []);
    }

    #[test]
    fn nothing_is_said_where_the_record_of_the_cpu_is_missing() {
        assert_eq!(of_cpu_0(&[&[500], &[100, 150, 200]]), []);
        let mut trace = trace(&[&[0, 500], &[100, 150, 200]]);
        assert_eq!(of_others(0, &trace).len(), 1);
        trace.cpus[0].lost_records.push(crate::replay::trace::LostRecords { ts_ns: 400 * US, lost: None });
        assert_eq!(of_others(0, &trace).len(), 0);
    }

    #[test]
    fn turns_before_due_and_after_seen_are_no_matter() {
        assert_eq!(of_cpu_0(&[&[-300], &[-200, -150, 10_050, 10_100]]), []);
        assert_eq!(of_others(7, &trace(&[&[], &[1, 50]])).len(), 0);
    }

    proptest! {
        #[test]
        fn no_turn_has_a_record_of_the_cpu_inside(
            own_us in proptest::collection::vec(-100..12_000_i64, 0..60),
            others_us in proptest::collection::vec((any::<bool>(), -100..12_000_i64), 0..200),
        ) {
            let mut own_us = own_us;
            own_us.sort_unstable();
            let of = |wanted: bool| {
                let mut times: Vec<i64> =
                    others_us.iter().filter(|(which, _)| *which == wanted).map(|(_, at_us)| *at_us).collect();
                times.sort_unstable();
                times
            };
            let trace = trace(&[&own_us, &of(false), &of(true)]);
            for one in of_others(0, &trace) {
                prop_assert!(one.end_ns - one.start_ns >= TURN_NS_MIN);
                prop_assert!(one.start_ns >= 0 && one.end_ns <= trace.window.seen_ns);
                let inside = |at_us: &&i64| (one.start_ns + 1..=one.end_ns).contains(&(**at_us * US));
                prop_assert_eq!(own_us.iter().find(inside), None);
            }
        }
    }
}
