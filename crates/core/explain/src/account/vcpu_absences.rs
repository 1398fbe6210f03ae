//! Stretches in which the host of a virtual machine did not execute a CPU, matched with the trace of the guest.
//!
//! The host reports their times within some slack: it samples at intervals, and two clocks are compared. The trace
//! gives them exactly: a CPU that is not executed records nothing. So an absence is moved, within its slack, to where
//! the CPU recorded nothing; an absence without such a place is rejected.

use crate::account::ledger::{Answer, Piece};
use crate::replay::trace::{CpuActivity, Trace};
use archive::absence::Absence;
use archive::explanation::Confidence;

/// Percentage by which an absence may be shortened to fit between two events: the host samples at intervals.
const SHORTER_PERCENT_MAX: i64 = 20;

/// Why a CPU was not executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbsenceCause {
    /// The emulator was stopped, as reported by the host.
    EmulatorStopped(Absence),
    /// Other tasks had the host's CPU, as reported by the host.
    Preempted(Absence),
    /// The kernel's task clock left it out of the charge of the thread on the CPU. `more`: it left out all that it
    /// could, so the silence before belongs to it.
    StealClock { charged: Charged, more: bool },
    /// The hypervisor's own count of stolen time grew by this much between two instants.
    StealCount { start_ns: i64, end_ns: i64, stolen_ns: i64 },
    /// The emulator has one thread for all CPUs, and another CPU had its turn, with this number of events.
    OtherCpuExecuted { of: u32, events: usize },
}

/// The charge of a thread, and the elapsed time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charged {
    pub tid: i32,
    pub start_ns: i64,
    pub end_ns: i64,
    pub ran_ns: i64,
}

impl Charged {
    /// Time that passed without being charged; negative if clocks were read at different instants.
    pub fn missing_ns(&self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns).saturating_sub(self.ran_ns)
    }
}

/// An absence with its exact position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacedAbsence {
    pub cpu: u32,
    pub start_ns: i64,
    pub end_ns: i64,
    pub cause: AbsenceCause,
    pub confidence: Confidence,
}

/// The absences that match the trace, in order of time, and the number of those that do not.
pub fn place(absences: &[Absence], trace: &Trace) -> (Vec<PlacedAbsence>, usize) {
    let mut placed: Vec<PlacedAbsence> = Vec::new();
    let mut refused = 0;
    let sound = |absence: &&Absence| absence.start_ns < absence.end_ns && absence.slack_ns >= 0;
    for absence in absences.iter().filter(sound) {
        let Some(activity) = trace.cpu(absence.cpu) else { continue };
        let window = trace.window;
        let outside = absence.end_ns.saturating_add(absence.slack_ns) <= window.due_ns
            || absence.start_ns.saturating_sub(absence.slack_ns) >= window.seen_ns;
        if outside {
            continue;
        }
        match place_one(absence, activity) {
            Some(one) => placed.push(one),
            None => refused += 1,
        }
    }
    placed.sort_by_key(|one| (one.start_ns, one.end_ns));
    (placed, refused)
}

fn place_one(absence: &Absence, activity: &CpuActivity) -> Option<PlacedAbsence> {
    let ns = absence.end_ns.checked_sub(absence.start_ns)?;
    let earliest_ns = absence.start_ns.saturating_sub(absence.slack_ns);
    let latest_ns = absence.end_ns.saturating_add(absence.slack_ns);
    let places = gaps(activity, earliest_ns, latest_ns).filter_map(|(from_ns, to_ns)| {
        let room_ns = to_ns.saturating_sub(from_ns);
        let (start_ns, end_ns) = if room_ns >= ns {
            let start_ns = absence.start_ns.clamp(from_ns, to_ns.saturating_sub(ns).max(from_ns));
            (start_ns, start_ns + ns)
        } else {
            (from_ns, to_ns)
        };
        let lost_ns = ns - (end_ns - start_ns);
        let moved_ns = start_ns.abs_diff(absence.start_ns).max(end_ns.abs_diff(absence.end_ns));
        let fits = lost_ns.saturating_mul(100) <= ns.saturating_mul(SHORTER_PERCENT_MAX)
            && moved_ns <= absence.slack_ns.unsigned_abs();
        fits.then_some((lost_ns, moved_ns, start_ns, end_ns))
    });
    let (_, _, start_ns, end_ns) = places.min()?;
    // If even the latest beginning is before the earliest end, the time between them was certainly not executed.
    let certain = ns > absence.slack_ns.saturating_mul(2);
    let confidence = if certain { Confidence::Certain } else { Confidence::Likely };
    let (start_ns, end_ns) = match certain && absence.stopped {
        true => stretched(absence, activity, (start_ns, end_ns)),
        false => (start_ns, end_ns),
    };
    let cause =
        if absence.stopped { AbsenceCause::EmulatorStopped(*absence) } else { AbsenceCause::Preempted(*absence) };
    Some(PlacedAbsence { cpu: absence.cpu, start_ns, end_ns, cause, confidence })
}

/// The time that a thread waited is counted exactly, but the time of a stop is sampled. So a stop is extended to the
/// events around it if they are within its slack.
fn stretched(absence: &Absence, activity: &CpuActivity, (start_ns, end_ns): (i64, i64)) -> (i64, i64) {
    let around = gaps(activity, start_ns, end_ns).find(|&(from_ns, to_ns)| from_ns <= start_ns && end_ns <= to_ns);
    let (from_ns, to_ns) = around.unwrap_or((start_ns, end_ns));
    let earliest_ns = absence.start_ns.saturating_sub(absence.slack_ns);
    let latest_ns = absence.end_ns.saturating_add(absence.slack_ns);
    (if from_ns >= earliest_ns { from_ns } else { start_ns }, if to_ns <= latest_ns { to_ns } else { end_ns })
}

/// Gaps between two events of a CPU that overlap a part of its record.
fn gaps(activity: &CpuActivity, start_ns: i64, end_ns: i64) -> impl Iterator<Item = (i64, i64)> {
    let first = activity.events.partition_point(|event| event.ts_ns <= start_ns);
    let last = activity.events.partition_point(|event| event.ts_ns < end_ns);
    let at = |index: usize| activity.events.get(index).map(|event| event.ts_ns);
    (first..=last.max(first)).map(move |index| {
        let before_ns = index.checked_sub(1).and_then(at).unwrap_or(i64::MIN);
        (before_ns, at(index).unwrap_or(i64::MAX))
    })
}

/// Marks the pieces in which a CPU was not executed. Keeps their partition.
pub fn attribute(pieces: Vec<Piece>, placed: &[PlacedAbsence]) -> Vec<Piece> {
    let mut attributed = Vec::with_capacity(pieces.len() + placed.len());
    for piece in pieces {
        let mut rest = piece;
        for one in placed.iter().filter(|one| one.cpu == piece.cpu) {
            let (start_ns, end_ns) = (one.start_ns.max(rest.start_ns), one.end_ns.min(rest.end_ns));
            if start_ns >= end_ns {
                continue;
            }
            if start_ns > rest.start_ns {
                attributed.push(Piece { end_ns: start_ns, ..rest });
            }
            attributed.push(Piece { start_ns, end_ns, answer: Answer::NotExecuted(piece.answer.context()), ..rest });
            rest.start_ns = end_ns;
        }
        if rest.start_ns < rest.end_ns {
            attributed.push(rest);
        }
    }
    attributed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::context::Context;
    use crate::replay::trace::idle_cpus;
    use archive::explanation::PhaseName;
    use proptest::prelude::*;

    const US: i64 = 1000;

    /// CPU 1 with events at these µs; due at 0, seen at 30 ms.
    fn trace(events_us: &[i64]) -> Trace<'static> {
        idle_cpus::trace(&[(1, events_us)], 30_000)
    }

    fn absence(start_us: i64, end_us: i64, stopped: bool) -> Absence {
        Absence { cpu: 1, start_ns: start_us * US, end_ns: end_us * US, slack_ns: 1000 * US, stopped }
    }

    /// Its position in µs, and whether it is certain.
    fn placed(absence: Absence, events_us: &[i64]) -> Option<(i64, i64, bool)> {
        let (placed, refused) = place(&[absence], &trace(events_us));
        assert_eq!(placed.len() + refused, 1);
        placed.first().map(|one| (one.start_ns / US, one.end_ns / US, one.confidence == Confidence::Certain))
    }

    #[test]
    fn a_wait_is_moved_to_where_the_cpu_recorded_nothing() {
        let wait = absence(5000, 10_000, false);
        assert_eq!(placed(wait, &[0, 20_000]), Some((5000, 10_000, true)));
        assert_eq!(placed(wait, &[0, 5600, 20_000]), Some((5600, 10_600, true)));
        assert_eq!(placed(wait, &[0, 4500, 9700, 20_000]), Some((4700, 9700, true)));
    }

    #[test]
    fn a_stop_reaches_to_the_events_around_it() {
        assert_eq!(placed(absence(5000, 10_000, true), &[0, 4500, 10_900]), Some((4500, 10_900, true)));
        assert_eq!(placed(absence(5000, 10_000, true), &[0, 10_900]), Some((5000, 10_900, true)));
    }

    #[test]
    fn one_that_the_trace_contradicts_is_refused() {
        assert_eq!(placed(absence(5000, 10_000, true), &[0, 7500, 20_000]), None);
        assert_eq!(placed(absence(5000, 10_000, false), &[0, 6500, 20_000]), None);
    }

    #[test]
    fn one_that_is_no_longer_than_its_slack_is_likely_at_most() {
        assert_eq!(placed(absence(5000, 5800, false), &[0, 5100, 5300, 6200, 20_000]), Some((5300, 6100, false)));
    }

    #[test]
    fn other_cpus_and_other_times_are_no_matter() {
        let elsewhere = Absence { cpu: 0, ..absence(5000, 10_000, true) };
        let later = absence(40_000, 50_000, true);
        let absurd = Absence { end_ns: i64::MIN, ..absence(5000, 10_000, true) };
        assert_eq!(place(&[elsewhere, later, absurd], &trace(&[0])), (Vec::new(), 0));
    }

    proptest! {
        #[test]
        fn the_pieces_stay_a_partition(
            absences in proptest::collection::vec((any::<i64>(), any::<i64>(), any::<i64>(), any::<bool>()), 0..4),
            near in proptest::collection::vec((-6000..40_000_i64, 0..20_000_i64, 0..3000_i64, any::<bool>()), 0..6),
            events_us in proptest::collection::vec(-5000..31_000_i64, 0..30),
        ) {
            let mut events_us = events_us;
            events_us.sort_unstable();
            let far = absences.into_iter().map(|(start_ns, end_ns, slack_ns, stopped)| Absence {
                cpu: 1, start_ns, end_ns, slack_ns, stopped,
            });
            let near = near.into_iter().map(|(start_us, us, slack_us, stopped)| Absence {
                slack_ns: slack_us * US, ..absence(start_us, start_us + us, stopped)
            });
            let (placed, _) = place(&far.chain(near).collect::<Vec<_>>(), &trace(&events_us));
            let answer = Answer::Held(Context::Idle { state: 1 });
            let piece = |start_ns, end_ns| Piece { phase: PhaseName::TimerDelay, cpu: 1, start_ns, end_ns, answer };
            let pieces = attribute(vec![piece(0, 7_000_000), piece(7_000_000, 30_000_000)], &placed);
            let mut cursor_ns = 0;
            for piece in &pieces {
                prop_assert!(piece.start_ns == cursor_ns && piece.end_ns > piece.start_ns, "{pieces:?}");
                cursor_ns = piece.end_ns;
            }
            prop_assert_eq!(cursor_ns, 30_000_000);
        }
    }
}
