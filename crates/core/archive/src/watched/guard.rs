//! A watch that stands for months: slower reads, stretches that are kept on request, and events that it sheds.

use crate::choice::{Choice, choices};
use serde::{Deserialize, Serialize};

/// How a watch differs that stands for months.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GuardSettings {
    /// Interval between reads of the trace buffers.
    pub round_ns: u64,
    /// Length of the stretch that is kept on request.
    pub saved_ns: u64,
    /// Trace instance in memory that a reset of the machine keeps: the guard records into it as well, if the machine has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub kept_instance: Option<String>,
    /// Longest interval between totals. `None`: they become rarer, as in any run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub totals_ns: Option<u64>,
}

/// The name of a trace instance of this tool begins so: its own runs do not take it for the trace of another program.
pub const INSTANCE_PREFIX: &str = "tardy-";

/// Whether a guard may record into an instance of this name.
pub fn is_kept_name(name: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    // Instances of a running meter have its process number there.
    let rest = name.strip_prefix(INSTANCE_PREFIX).unwrap_or_default();
    name.len() <= NAME_BYTES_MAX
        && rest.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && rest.chars().all(plain)
}

/// Longer names of instances have no use.
const NAME_BYTES_MAX: usize = 64;

/// Events of the instance in kept memory: those that show which thread, interrupt or softirq had a CPU, and when a thread was due. Each is
/// recorded twice, so there are few. An event of a module has another number after the next boot.
pub const KEPT_EVENTS: &[(&str, &str)] = &[
    ("sched", "sched_switch"),
    ("sched", "sched_waking"),
    ("sched", "sched_migrate_task"),
    ("sched", "sched_process_fork"),
    ("sched", "sched_process_exit"),
    ("irq", "irq_handler_entry"),
    ("irq", "irq_handler_exit"),
    ("irq", "softirq_entry"),
    ("irq", "softirq_exit"),
    ("irq_vectors", "local_timer_entry"),
    ("irq_vectors", "local_timer_exit"),
    ("timer", "hrtimer_start"),
    ("timer", "hrtimer_expire_entry"),
    ("timer", "hrtimer_expire_exit"),
];

choices! {
    /// A kind of events that a guard stops recording when it costs more than its budget. An account loses least by the first.
    pub enum EventKind {
        /// Power states and frequencies of CPUs.
        Power = "power",
        /// CPU time that the kernel charges to a task: without it, time that a hypervisor took looks like work of the task.
        Charges = "charges",
        /// Timers, work queues, and calls between CPUs.
        Work = "work",
        /// Interrupts and softirqs.
        Interrupts = "interrupts",
        /// Memory that the kernel hands out in page faults. Only faults of the watched threads are recorded.
        Memory = "memory",
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
    fn an_instance_of_another_program_is_not_recorded_into() {
        assert!(is_kept_name("tardy-kept"));
        for name in ["", "boot_mapped", "tardy-", "tardy-4711-a", "tardy-kept/../x", "tardy"] {
            assert!(!is_kept_name(name), "{name}");
        }
    }

    #[test]
    fn what_names_a_cause_goes_last() {
        assert_eq!(EventKind::of("power", "cpu_idle"), EventKind::first(1)[0]);
        assert_eq!(EventKind::of("sched", "sched_switch"), EventKind::Rest);
        assert_eq!(EventKind::of("irq", "softirq_entry"), EventKind::Interrupts);
        assert_eq!(EventKind::first(99), EventKind::ORDER);
    }
}
