//! Selects the snapshots to keep within a budget of bytes: the largest of the run, the worst of each of its stretches, and,
//! whatever their latency, controls and what was kept on request.

use crate::kernel::clock;
use archive::settings::TraceSettings;
use wakeups::stretches::Stretches;

/// The part of the budget for snapshots that were kept on request.
const REQUESTED_PART: u64 = 2;

/// The stretches whose maxima get a snapshot.
pub fn stretches(settings: &TraceSettings) -> Option<Stretches> {
    let offset_ns = clock::realtime_ns().saturating_sub(clock::monotonic_ns());
    settings.worst_of_each.map(|each| Stretches::of(each.stretch_ns, offset_ns))
}

/// Late wake-ups that compete for the places of a stretch. Others are always longer, or matter less; those that matter least
/// come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sort {
    /// Of a thread without a real-time policy.
    Ordinary,
    Cycle,
    WakeUp,
}

/// Why a snapshot is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Late: in this stretch of the run, if it is divided.
    Late(Sort, Option<i64>),
    Control,
    Requested,
}

/// The snapshots that were sent and not dropped.
#[derive(Debug)]
pub struct Retention {
    snapshots_max: usize,
    /// Places of each sort in a stretch.
    of_stretch: usize,
    budget_bytes: u64,
    kept: Vec<Kept>,
}

#[derive(Debug, Clone, Copy)]
struct Kept {
    number: u32,
    latency_ns: i64,
    bytes: u64,
    purpose: Purpose,
}

/// Who makes room first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    OfTheRun,
    OfItsStretch(Sort),
    WorstOfItsStretch(Sort),
}

impl Retention {
    pub fn new(settings: &TraceSettings) -> Self {
        Self {
            snapshots_max: (settings.snapshots_max as usize).max(1),
            of_stretch: settings.worst_of_each.map_or(0, |each| each.snapshots as usize),
            budget_bytes: settings.budget_bytes,
            kept: Vec::new(),
        }
    }

    /// Most bytes of one snapshot that is kept on request.
    pub fn requested_bytes_max(&self) -> u64 {
        self.budget_bytes / REQUESTED_PART / 2
    }

    fn late(&self) -> impl Iterator<Item = &Kept> {
        self.kept.iter().filter(|kept| matches!(kept.purpose, Purpose::Late(..)))
    }

    /// Whether a snapshot with this latency would be kept.
    pub fn worth(&self, latency_ns: i64, purpose: Purpose) -> bool {
        let not_smaller = || self.late().filter(|kept| kept.latency_ns >= latency_ns);
        let places = match purpose {
            Purpose::Late(_, Some(_)) => self.of_stretch,
            Purpose::Late(_, None) => 0,
            Purpose::Control | Purpose::Requested => return true,
        };
        not_smaller().count() < self.snapshots_max
            || not_smaller().filter(|kept| kept.purpose == purpose).count() < places
    }

    /// Adds a snapshot; returns the numbers of those to drop for it. The largest is never dropped.
    pub fn admit(&mut self, number: u32, latency_ns: i64, bytes: u64, purpose: Purpose) -> Vec<u32> {
        self.kept.push(Kept { number, latency_ns, bytes, purpose });
        let mut gone = Vec::new();
        let requested = |kept: &&Kept| kept.purpose == Purpose::Requested;
        while self.kept.iter().filter(requested).map(|kept| kept.bytes).sum::<u64>()
            > self.budget_bytes / REQUESTED_PART
            && self.kept.iter().filter(requested).count() > 1
            && let Some(oldest) = self.kept.iter().find(requested).map(|kept| kept.number)
        {
            self.drop(oldest, &mut gone);
        }
        while let Some(number) = self.superfluous() {
            self.drop(number, &mut gone);
        }
        gone
    }

    fn drop(&mut self, number: u32, gone: &mut Vec<u32>) {
        self.kept.retain(|kept| kept.number != number);
        gone.push(number);
    }

    /// A snapshot without a place, or the first to make room if the bytes exceed the budget.
    fn superfluous(&self) -> Option<u32> {
        let largest = self.late().map(|kept| kept.latency_ns).max()?;
        let candidates = self.late().filter(|kept| kept.latency_ns != largest);
        let (rank, first) =
            candidates.map(|kept| (self.rank(kept), kept)).min_by_key(|(rank, kept)| (*rank, kept.latency_ns))?;
        let beyond = rank == Rank::OfTheRun && self.larger(first, |_| true) >= self.snapshots_max;
        (beyond || self.bytes() > self.budget_bytes).then_some(first.number)
    }

    fn rank(&self, kept: &Kept) -> Rank {
        let Purpose::Late(sort, Some(_)) = kept.purpose else { return Rank::OfTheRun };
        match self.larger(kept, |other| other.purpose == kept.purpose) {
            0 if self.of_stretch > 0 => Rank::WorstOfItsStretch(sort),
            larger if larger < self.of_stretch => Rank::OfItsStretch(sort),
            _ => Rank::OfTheRun,
        }
    }

    /// Late ones among these that come before it: larger, or as large and older.
    fn larger(&self, kept: &Kept, among: impl Fn(&Kept) -> bool) -> usize {
        let is_before = |other: &&Kept| {
            (other.latency_ns, std::cmp::Reverse(other.number)) > (kept.latency_ns, std::cmp::Reverse(kept.number))
        };
        self.late().filter(is_before).filter(|other| among(other)).count()
    }

    /// Bytes against the budget. Requested ones never take more than their part of it from the late ones.
    fn bytes(&self) -> u64 {
        let is_requested = |kept: &&Kept| kept.purpose == Purpose::Requested;
        let requested: u64 = self.kept.iter().filter(is_requested).map(|kept| kept.bytes).sum();
        let others: u64 = self.kept.iter().filter(|kept| !is_requested(kept)).map(|kept| kept.bytes).sum();
        others.saturating_add(requested.min(self.budget_bytes / REQUESTED_PART))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::settings::WorstOfEach;

    const LATE: Purpose = Purpose::Late(Sort::WakeUp, None);

    fn retention(snapshots_max: u32, budget_bytes: u64) -> Retention {
        Retention::new(&TraceSettings { snapshots_max, budget_bytes, ..TraceSettings::default() })
    }

    fn of_stretches(snapshots_max: u32, budget_bytes: u64, snapshots: u32) -> Retention {
        let worst_of_each = Some(WorstOfEach { stretch_ns: 1, snapshots });
        Retention::new(&TraceSettings { snapshots_max, budget_bytes, worst_of_each, ..TraceSettings::default() })
    }

    fn within(stretch: i64) -> Purpose {
        Purpose::Late(Sort::WakeUp, Some(stretch))
    }

    #[test]
    fn the_smallest_makes_room_and_the_largest_stays() {
        let mut retention = retention(2, 1000);
        assert!(retention.admit(1, 500, 10, LATE).is_empty());
        assert!(retention.admit(2, 100, 10, LATE).is_empty());
        assert!(!retention.worth(100, LATE));
        assert!(retention.worth(101, LATE));
        assert_eq!(retention.admit(3, 200, 10, LATE), [2]);
        assert_eq!(retention.admit(4, 900, 10, LATE), [3]);
    }

    #[test]
    fn the_budget_evicts_but_never_the_largest() {
        let mut retention = retention(10, 100);
        retention.admit(1, 50, 60, LATE);
        assert_eq!(retention.admit(2, 70, 60, LATE), [1]);
        assert_eq!(retention.admit(3, 10, 60, LATE), [3]);
        assert_eq!(retention.admit(4, 80, 500, LATE), [2]);
    }

    #[test]
    fn controls_do_not_take_the_place_of_spikes() {
        let mut retention = retention(1, 1000);
        retention.admit(1, 50, 10, LATE);
        assert!(retention.admit(2, 5, 10, Purpose::Control).is_empty());
        assert!(retention.admit(3, 6, 10, Purpose::Control).is_empty());
    }

    #[test]
    fn a_bad_first_hour_does_not_push_out_the_worst_of_a_later_one() {
        let mut retention = of_stretches(3, 1000, 1);
        for number in 1..=3 {
            assert!(retention.admit(number, 900_000 + i64::from(number), 10, within(0)).is_empty());
        }
        assert!(!retention.worth(800, within(0)) && retention.worth(800, within(1)));
        assert!(retention.admit(4, 800, 10, within(1)).is_empty());
        assert!(!retention.worth(700, within(1)), "it is neither among the largest nor the worst of its hour");
        assert_eq!(retention.admit(5, 850, 10, within(1)), [4], "one of each hour");
        assert!(retention.admit(6, 5, 10, within(2)).is_empty());
        let cycle = Purpose::Late(Sort::Cycle, Some(2));
        assert!(retention.admit(7, 4_000, 10, cycle).is_empty(), "a cycle is no competitor of a wake-up");
        let kept: Vec<u32> = retention.kept.iter().map(|kept| kept.number).collect();
        assert_eq!(kept, [1, 2, 3, 5, 6, 7]);
    }

    #[test]
    fn where_the_budget_is_small_the_worst_of_each_hour_stay_longest() {
        let mut retention = of_stretches(60, 100, 2);
        retention.admit(1, 900, 20, within(0));
        retention.admit(2, 800, 20, within(0));
        retention.admit(3, 700, 20, within(0));
        retention.admit(4, 50, 20, within(1));
        retention.admit(5, 40, 20, within(1));
        assert_eq!(retention.admit(6, 30, 20, within(2)), [3], "the third of its hour");
        assert_eq!(retention.admit(7, 20, 20, within(3)), [5], "the second of its hour, and smaller than the other");
        assert_eq!(retention.admit(8, 10, 20, within(4)), [2]);
        assert_eq!(retention.kept.iter().map(|kept| kept.bytes).sum::<u64>(), 100);
        let ordinary = Purpose::Late(Sort::Ordinary, Some(5));
        assert_eq!(retention.admit(9, 600, 20, ordinary), [9], "the worst wake-ups of real-time threads matter more");
    }

    #[test]
    fn a_week_of_hours_stays_within_its_bytes() {
        let mut retention = of_stretches(60, 10_000, 2);
        let mut number = 0;
        for hour in 0..168 {
            for each in 0..20 {
                number += 1;
                retention.admit(number, 1000 + each * 7 % 20, 50, within(hour));
            }
        }
        assert!(retention.bytes() <= 10_000);
        let hours = (0..168).filter(|hour| retention.kept.iter().any(|kept| kept.purpose == within(*hour)));
        assert_eq!(hours.count(), 168);
    }

    #[test]
    fn what_was_kept_on_request_stays_within_half_of_the_budget() {
        let mut retention = retention(5, 100);
        retention.admit(1, 50, 20, LATE);
        assert!(retention.worth(0, Purpose::Requested));
        assert!(retention.admit(2, 1, 30, Purpose::Requested).is_empty());
        assert_eq!(retention.admit(3, 1, 30, Purpose::Requested), [2], "the oldest makes room");
        assert!(retention.admit(4, 60, 20, LATE).is_empty());
        assert_eq!(retention.admit(5, 70, 20, LATE), Vec::<u32>::new());
        assert_eq!(retention.admit(6, 80, 20, LATE), [1], "late ones do not replace what was kept on request");
    }
}
