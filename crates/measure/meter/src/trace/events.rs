//! The events that are always recorded: cheap ones that bracket everything that can occupy a CPU.

/// One event of the base set.
#[derive(Debug, Clone, Copy)]
pub struct BaseEvent {
    pub system: &'static str,
    pub name: &'static str,
    /// Filter expression; empty for all.
    pub filter: &'static str,
}

/// Recorded if the kernel may have a steal clock: the time charged to a task then excludes steal time. Otherwise it
/// adds nothing to `sched_switch`, at the cost of one more event each time.
pub const STEAL_CLOCK_EVENT: BaseEvent = all("sched", "sched_stat_runtime");

const fn all(system: &'static str, name: &'static str) -> BaseEvent {
    BaseEvent { system, name, filter: "" }
}

/// Only the measuring threads arm the relevant timers, and their names start with this prefix.
const OWN_ARMING: &str = "comm ~ \"tardy-cpu*\"";

/// SIGCONT, SIGSTOP and those of a terminal, in the numbering of most architectures.
const STOP_AND_CONTINUE: &str = "sig >= 18 && sig <= 22";

/// The base set. Events that a kernel or architecture lacks are skipped.
pub const BASE_EVENTS: &[BaseEvent] = &[
    all("sched", "sched_switch"),
    all("sched", "sched_waking"),
    all("sched", "sched_wakeup"),
    all("sched", "sched_wakeup_new"),
    all("sched", "sched_migrate_task"),
    all("sched", "sched_pi_setprio"),
    BaseEvent { system: "signal", name: "signal_generate", filter: STOP_AND_CONTINUE },
    all("cgroup", "cgroup_freeze"),
    all("cgroup", "cgroup_unfreeze"),
    all("irq", "irq_handler_entry"),
    all("irq", "irq_handler_exit"),
    all("irq", "softirq_entry"),
    all("irq", "softirq_exit"),
    all("irq_vectors", "local_timer_entry"),
    all("irq_vectors", "local_timer_exit"),
    all("irq_vectors", "reschedule_entry"),
    all("irq_vectors", "reschedule_exit"),
    all("irq_vectors", "call_function_entry"),
    all("irq_vectors", "call_function_exit"),
    all("irq_vectors", "call_function_single_entry"),
    all("irq_vectors", "call_function_single_exit"),
    all("irq_vectors", "irq_work_entry"),
    all("irq_vectors", "irq_work_exit"),
    all("irq_vectors", "thermal_apic_entry"),
    all("irq_vectors", "thermal_apic_exit"),
    all("irq_vectors", "threshold_apic_entry"),
    all("irq_vectors", "threshold_apic_exit"),
    all("irq_vectors", "error_apic_entry"),
    all("irq_vectors", "error_apic_exit"),
    all("irq_vectors", "spurious_apic_entry"),
    all("irq_vectors", "spurious_apic_exit"),
    all("irq_vectors", "x86_platform_ipi_entry"),
    all("irq_vectors", "x86_platform_ipi_exit"),
    all("ipi", "ipi_entry"),
    all("ipi", "ipi_exit"),
    all("ipi", "ipi_raise"),
    all("ipi", "ipi_send_cpu"),
    all("ipi", "ipi_send_cpumask"),
    all("csd", "csd_function_entry"),
    all("csd", "csd_function_exit"),
    BaseEvent { system: "timer", name: "hrtimer_start", filter: OWN_ARMING },
    all("timer", "hrtimer_expire_entry"),
    all("timer", "hrtimer_expire_exit"),
    all("timer", "timer_expire_entry"),
    all("timer", "timer_expire_exit"),
    all("workqueue", "workqueue_execute_start"),
    all("workqueue", "workqueue_execute_end"),
    all("power", "cpu_idle"),
    all("power", "cpu_frequency"),
    all("nmi", "nmi_handler"),
    all("printk", "console"),
    all("ext4", "ext4_sync_file_enter"),
    all("xfs", "xfs_file_fsync"),
    all("btrfs", "btrfs_sync_file"),
    all("f2fs", "f2fs_sync_file_enter"),
    BaseEvent { system: "exceptions", name: "page_fault_user", filter: OWN_ARMING },
    BaseEvent { system: "exceptions", name: "page_fault_kernel", filter: OWN_ARMING },
];
