//! A watch that stands for months: slower reads, stretches that are kept on request, and events that it sheds.

use crate::choice::{Choice, choices};
use serde::{Deserialize, Serialize};

/// How a watch differs that stands for months.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GuardSettings {
    /// Interval between reads of the trace buffers.
    pub round_ns: u64,
    /// Length of the stretch that is kept on request.
    pub saved_ns: u64,
    /// Longest interval between totals. `None`: they become rarer, as in any run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub totals_ns: Option<u64>,
}

choices! {
    /// A kind of events that a guard stops recording when it costs more than its budget. An account loses least by the first.
    pub enum EventKind {
        /// Memory that the kernel hands out in page faults.
        Memory = "memory",
        /// CPU time that the kernel charges to a task.
        Charges = "charges",
        /// Power states and frequencies of CPUs.
        Power = "power",
        /// Timers, work queues, and calls between CPUs.
        Work = "work",
        /// Interrupts and softirqs.
        Interrupts = "interrupts",
        /// Every other event: late wake-ups are then counted without a cause.
        Rest = "rest",
    }
}

impl EventKind {
    /// In the order in which they are shed, which is the order of their declaration.
    pub const ORDER: [Self; Self::CHOICES.len()] = {
        let mut order = [Self::Rest; Self::CHOICES.len()];
        let mut at = 0;
        while at < order.len() {
            order[at] = Self::CHOICES[at].0;
            at += 1;
        }
        order
    };

    /// The kind of an event of the trace.
    pub fn of(system: &str, event: &str) -> Self {
        match (system, event) {
            ("kmem" | "exceptions", _) => Self::Memory,
            ("sched", "sched_stat_runtime") => Self::Charges,
            ("power", _) => Self::Power,
            ("timer" | "workqueue" | "ipi" | "csd" | "cgroup" | "ext4" | "xfs" | "btrfs" | "f2fs", _) => Self::Work,
            ("irq" | "irq_vectors" | "nmi", _) => Self::Interrupts,
            _ => Self::Rest,
        }
    }

    /// The first kinds, as many as are shed.
    pub fn first(shed: usize) -> &'static [Self] {
        &Self::ORDER[..shed.min(Self::ORDER.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_a_cause_goes_last() {
        assert_eq!(EventKind::of("kmem", "rss_stat"), EventKind::first(1)[0]);
        assert_eq!(EventKind::of("sched", "sched_switch"), EventKind::Rest);
        assert_eq!(EventKind::of("irq", "softirq_entry"), EventKind::Interrupts);
        assert_eq!(EventKind::first(99), EventKind::ORDER);
    }
}
