//! The ordinary times on this machine, from control snapshots: a culprit that takes as long without a spike is not one.

use archive::explanation::{Explanation, Owner, OwnerKind, PhaseName};

/// An owner of time in a phase, as far as comparisons distinguish it: interrupts by name, whichever instance of a thread they ran
/// in; tasks, idle and the thread itself by kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Compared {
    phase: PhaseName,
    kind: OwnerKind,
    name: String,
}

impl Compared {
    pub fn new(phase: PhaseName, kind: OwnerKind, name: &str) -> Self {
        let name = if goes_by_name(kind) { stem(name) } else { "" };
        Self { phase, kind, name: name.to_owned() }
    }

    fn is(&self, phase: PhaseName, owner: &Owner) -> bool {
        self.phase == phase && self.kind == owner.kind && (!goes_by_name(owner.kind) || self.name == stem(&owner.name))
    }
}

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

    /// Median time of this owner; 0 without controls.
    pub fn ns(&self, owner: &Compared) -> i64 {
        let mut times: Vec<i64> =
            self.controls.iter().map(|control| taken_ns(control, |phase, of| owner.is(phase, of))).collect();
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or(0)
    }

    /// Number of controls in which the same owners take at least `ns` together, and number of all controls.
    pub fn as_long_in<'o>(&self, ns: i64, owners: impl Iterator<Item = &'o Compared> + Clone) -> (usize, usize) {
        let is_same = |phase: PhaseName, of: &Owner| owners.clone().any(|owner| owner.is(phase, of));
        (self.controls.iter().filter(|control| taken_ns(control, is_same) >= ns).count(), self.controls.len())
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

/// Time of a wake-up that the wanted owners took.
fn taken_ns(wake_up: &Explanation, wanted: impl Fn(PhaseName, &Owner) -> bool) -> i64 {
    let rows = wake_up.phases.iter().flat_map(|phase| phase.owners.iter().map(|owner| (phase.name, owner)));
    rows.filter(|(phase, owner)| wanted(*phase, owner)).map(|(_, owner)| owner.ns).sum()
}

/// Interrupts are distinguished by name; tasks, idle and the thread itself by kind.
fn goes_by_name(kind: OwnerKind) -> bool {
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
        let as_long =
            |ns, kind, name| ordinary.as_long_in(ns, [Compared::new(PhaseName::SchedulingDelay, kind, name)].iter());
        assert_eq!(as_long(600, OwnerKind::Task, "make-3"), (2, 3), "of tasks the kind is compared");
        assert_eq!(as_long(10, OwnerKind::Hardirq, "irq 30"), (0, 3), "of interrupts the name");
        assert_eq!(as_long(10, OwnerKind::Hardirq, "irq 24"), (1, 3), "of interrupts the name");
    }

    #[test]
    fn instances_share_a_stem() {
        assert_eq!(stem("NET_RX in ksoftirqd/1-22"), "NET_RX in ksoftirqd/1");
        assert_eq!(stem("irq 24"), "irq 24");
        assert_eq!(stem("local_timer"), "local_timer");
    }
}
