//! What is ordinary on this machine, learnt from control snapshots: a culprit that takes as long without a spike is none.

use archive::explanation::{Explanation, OwnerKind, PhaseName};

/// Medians over the controls.
pub struct Ordinary<'c> {
    controls: &'c [Explanation],
}

impl<'c> Ordinary<'c> {
    pub fn new(controls: &'c [Explanation]) -> Self {
        Self { controls }
    }

    pub fn is_unknown(&self) -> bool {
        self.controls.is_empty()
    }

    /// Median time of owners of this kind in this phase; for interrupts and softirqs only those of the same name.
    /// 0 without controls.
    pub fn ns(&self, phase: PhaseName, kind: OwnerKind, name: &str) -> i64 {
        let by_name = matches!(kind, OwnerKind::Hardirq | OwnerKind::Softirq | OwnerKind::Nmi);
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

/// A name without the thread's number, so that another instance of the same thing has the same name.
fn stem(name: &str) -> &str {
    let digits = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if digits.len() < name.len() { digits.strip_suffix('-').unwrap_or(name) } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_share_a_stem() {
        assert_eq!(stem("NET_RX in ksoftirqd/1-22"), "NET_RX in ksoftirqd/1");
        assert_eq!(stem("irq 24"), "irq 24");
        assert_eq!(stem("local_timer"), "local_timer");
    }
}
