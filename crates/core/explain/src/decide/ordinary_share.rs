//! Divides the ordinary time of each owner among the claims on it, so that no nanosecond is subtracted twice.

use crate::recognise::controls::{Compared, Controls};
use std::collections::HashMap;

/// Time of owners, as far as comparisons distinguish them.
pub type OwnerTimes = HashMap<Compared, i64>;

/// The part of the ordinary time of its owners that falls on a claim. An owner's ordinary time is spread evenly over the time
/// that it took in this wake-up: which part of that is ordinary shows nowhere. No more than was taken can be ordinary.
pub fn ordinary_share_ns(claimed: &OwnerTimes, taken: &OwnerTimes, ordinary: &Controls) -> i64 {
    let share = |(owner, &claimed_ns): (&Compared, &i64)| {
        let taken_ns = taken.get(owner).copied().unwrap_or(0).max(claimed_ns);
        let ordinary_ns = ordinary.ns(owner).min(taken_ns);
        let share = i128::from(ordinary_ns) * i128::from(claimed_ns) / i128::from(taken_ns.max(1));
        i64::try_from(share).unwrap_or(claimed_ns)
    };
    claimed.iter().map(share).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::explanation::{Explanation, Owner, OwnerKind, Phase, PhaseName};

    fn timer(phase: PhaseName, ns: i64) -> (Compared, i64) {
        (Compared::new(phase, OwnerKind::Hardirq, "local_timer"), ns)
    }

    /// A wake-up in which the timer interrupt takes 10 µs and tasks 20 µs before it.
    fn control() -> Explanation {
        let phase =
            |name, kind, owner: &str, ns| Phase { name, ns, owners: vec![Owner { kind, name: owner.into(), ns }] };
        Explanation {
            phases: vec![
                phase(PhaseName::TimerDelay, OwnerKind::Task, "make-2", 20_000),
                phase(PhaseName::SchedulingDelay, OwnerKind::Hardirq, "local_timer", 10_000),
            ],
            ..crate::explain_without_trace(&crate::decide::run_analysis::any_spike(), 0)
        }
    }

    #[test]
    fn claims_on_one_owner_share_its_ordinary_time() {
        let controls = [control()];
        let ordinary = Controls::new(&controls);
        let taken = OwnerTimes::from([timer(PhaseName::SchedulingDelay, 50_000)]);
        let share =
            |ns| ordinary_share_ns(&OwnerTimes::from([timer(PhaseName::SchedulingDelay, ns)]), &taken, &ordinary);
        assert_eq!((share(30_000), share(20_000)), (6_000, 4_000));
        assert_eq!(share(50_000), 10_000, "a claim on all of it");
    }

    #[test]
    fn no_more_than_a_claim_has_of_an_owner_is_ordinary() {
        let controls = [control()];
        let ordinary = Controls::new(&controls);
        let task = Compared::new(PhaseName::TimerDelay, OwnerKind::Task, "rustc-7");
        let claimed = OwnerTimes::from([timer(PhaseName::SchedulingDelay, 40_000), (task, 900)]);
        assert_eq!(ordinary_share_ns(&claimed, &claimed, &ordinary), 10_900);
    }
}
