//! The ordinary times on this machine, from control snapshots: a culprit that takes as long without a spike is not one.

use archive::explanation::{Explanation, Owner, OwnerKind, PhaseName};
use std::collections::HashSet;

/// Medians over the controls.
pub struct Controls<'c> {
    controls: &'c [Explanation],
}

impl<'c> Controls<'c> {
    pub fn new(controls: &'c [Explanation]) -> Self {
        Self { controls }
    }

    pub fn is_unknown(&self) -> bool {
        self.controls.is_empty()
    }

    /// Median time of owners of this kind in this phase; for interrupts and softirqs only those with the same name. 0
    /// without controls.
    pub fn ns(&self, phase: PhaseName, kind: OwnerKind, name: &str) -> i64 {
        let by_name = goes_by_name(kind);
        let mut times: Vec<i64> = self
            .controls
            .iter()
            .map(|control| {
                let phases = control.phases.iter().filter(|known| known.name == phase);
                let owners = phases.flat_map(|known| &known.owners).filter(|owner| owner.kind == kind);
                owners.filter(|owner| !by_name || stem(&owner.name) == stem(name)).map(|owner| owner.ns).sum()
            })
            .collect();
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or(0)
    }

    /// Number of controls in which the same owners take at least `ns` together, and number of all controls.
    pub fn as_long_in(&self, ns: i64, owners: &HashSet<(PhaseName, OwnerKind, String)>) -> (usize, usize) {
        let is_same = |phase: PhaseName, of: &Owner| {
            owners.iter().any(|(name, kind, owner)| {
                *name == phase && *kind == of.kind && (!goes_by_name(*kind) || stem(&of.name) == stem(owner))
            })
        };
        let taken_ns = |control: &Explanation| -> i64 {
            let rows = control.phases.iter().flat_map(|phase| phase.owners.iter().map(|owner| (phase.name, owner)));
            rows.filter(|(phase, owner)| is_same(*phase, owner)).map(|(_, owner)| owner.ns).sum()
        };
        (self.controls.iter().filter(|control| taken_ns(control) >= ns).count(), self.controls.len())
    }

    /// Median time of a phase; `None` without controls.
    pub fn phase_ns(&self, phase: PhaseName) -> Option<i64> {
        let of = |control: &Explanation| -> i64 {
            control.phases.iter().filter(|known| known.name == phase).map(|known| known.ns).sum()
        };
        let mut times: Vec<i64> = self.controls.iter().map(of).collect();
        times.sort_unstable();
        times.get(times.len() / 2).copied()
    }
}

/// Interrupts are distinguished by name; tasks, idle and the thread itself by kind.
pub fn goes_by_name(kind: OwnerKind) -> bool {
    matches!(kind, OwnerKind::Hardirq | OwnerKind::Softirq | OwnerKind::Nmi)
}

/// A name without the thread's number, so that other instances of the same thread have the same name.
fn stem(name: &str) -> &str {
    let digits = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if digits.len() < name.len() { digits.strip_suffix('-').unwrap_or(name) } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::explanation::Phase;

    fn control(owners: &[(OwnerKind, &str, i64)]) -> Explanation {
        let owners = owners.iter().map(|&(kind, name, ns)| Owner { kind, name: name.into(), ns }).collect();
        let phase = Phase { name: PhaseName::SchedulingDelay, ns: 0, owners };
        Explanation {
            phases: vec![phase],
            ..crate::explain_without_trace(&crate::decide::run_analysis::any_spike(), 0)
        }
    }

    #[test]
    fn controls_are_counted_in_which_the_same_took_as_long() {
        let controls = [
            control(&[(OwnerKind::Task, "cat-1", 900), (OwnerKind::Hardirq, "irq 24", 70)]),
            control(&[(OwnerKind::Task, "make-2", 400), (OwnerKind::Task, "cat-1", 200)]),
            control(&[]),
        ];
        let ordinary = Controls::new(&controls);
        let task = HashSet::from([(PhaseName::SchedulingDelay, OwnerKind::Task, String::new())]);
        assert_eq!(ordinary.as_long_in(600, &task), (2, 3), "of tasks the kind is compared");
        let irq = HashSet::from([(PhaseName::SchedulingDelay, OwnerKind::Hardirq, "irq 30".to_owned())]);
        assert_eq!(ordinary.as_long_in(10, &irq), (0, 3), "of interrupts the name");
    }

    #[test]
    fn instances_share_a_stem() {
        assert_eq!(stem("NET_RX in ksoftirqd/1-22"), "NET_RX in ksoftirqd/1");
        assert_eq!(stem("irq 24"), "irq 24");
        assert_eq!(stem("local_timer"), "local_timer");
    }
}
