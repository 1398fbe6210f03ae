//! Which events prove each culprit, and how sure it may be at most. A finding is never surer than its line here.
//!
//! An event with alternatives, `a|b`, is proven by any of them. `function` stands for the records of the function tracers.

use archive::explanation::Confidence::{self, Certain, Hint, Likely};

/// What a culprit rests on.
#[derive(Debug, Clone, Copy)]
pub struct ProvenBy {
    pub culprit: &'static str,
    /// All of them are in the trace of a wake-up that is explained so.
    pub events: &'static [&'static str],
    /// What they show.
    pub shows: &'static str,
    pub at_most: Confidence,
}

const fn line(
    culprit: &'static str,
    events: &'static [&'static str],
    shows: &'static str,
    at_most: Confidence,
) -> ProvenBy {
    ProvenBy { culprit, events, shows, at_most }
}

const SWITCHED: &[&str] = &["sched_switch", "sched_wakeup|sched_waking"];
const WORKED: &[&str] = &["sched_switch", "sched_wakeup|sched_waking", "workqueue_execute_start|sched_switch"];
const CALLED: &[&str] = &["csd_function_entry|call_function_entry|call_function_single_entry"];
const SERVED: &[&str] = &["irq_handler_entry|sched_switch"];
const EXPIRED: &[&str] = &["hrtimer_expire_entry|timer_expire_entry"];

/// One line a culprit.
pub const PROOFS: &[ProvenBy] = &[
    line(
        "acpi",
        SERVED,
        "the interrupt, its thread or a worker by name, between its first and its last event",
        Certain,
    ),
    line("another-run", &["sched_switch"], "a thread by name had the CPU after the wake-up", Certain),
    line("blocking-task", SWITCHED, "the task kept the CPU after the wake-up, carrying the demand to yield", Certain),
    line(
        "boosted-task",
        &["sched_switch", "sched_pi_setprio"],
        "the priority was lent before the task kept the CPU",
        Certain,
    ),
    line("cache-flush", CALLED, "the function, between its entry and its exit", Certain),
    line(
        "cfs-quota",
        EXPIRED,
        "the quota's timer expired right before the thread got the CPU; that it was throttled has no event",
        Likely,
    ),
    line("clock-step", &["hrtimer_start"], "the timer was set before the clock was seen; the step has no event", Hint),
    line("clocksource-watchdog", &["timer_expire_entry|sched_switch"], "the function or the thread by name", Certain),
    line("compaction", SWITCHED, "the thread by name had the CPU after the wake-up", Certain),
    line("cpu-frequency", SWITCHED, "the governor's thread by name had the CPU after the wake-up", Certain),
    line("cpu-hotplug", SWITCHED, "the thread by name had the CPU after the wake-up", Certain),
    line("efi-runtime", WORKED, "the worker and its function", Certain),
    line("fair-server", SWITCHED, "a less urgent task was chosen; that the server chose it has no event", Likely),
    line(
        "firmware-call",
        &[],
        "a mailbox' interrupt or a function by name; the time in the firmware has no event",
        Hint,
    ),
    line("graphics", SERVED, "the driver's interrupt, thread, worker or timer by name", Certain),
    line("idle-exit", &["cpu_idle|sched_switch"], "the CPU was in the idle state when the wake-up was due", Certain),
    line(
        "irq-storm",
        &[
            "irq_handler_entry|local_timer_entry|reschedule_entry|call_function_entry|call_function_single_entry|irq_work_entry",
        ],
        "each of its entries and exits",
        Certain,
    ),
    line("irq-work", &["irq_work_entry"], "its entry and exit", Certain),
    line(
        "irqs-off",
        &["local_timer_entry|hrtimer_expire_entry"],
        "a timer that was due came late on top of a task; that interrupts were masked only functions, the place that the interrupt broke into, or virtual time show",
        Certain,
    ),
    line("ksm", SWITCHED, "the thread by name had the CPU after the wake-up", Certain),
    line("late-arm", &["hrtimer_start"], "the timer was started after its expiry", Certain),
    line("membarrier", CALLED, "the function, between its entry and its exit", Certain),
    line("memcg-drain", WORKED, "the worker and its function", Certain),
    line("memory-contention", &[], "all phases take longer than in ordinary samples; no event shows why", Hint),
    line(
        "migration",
        &["sched_migrate_task"],
        "the thread was moved to a CPU that slept; why that one woke late has no event",
        Likely,
    ),
    line("module-load", SWITCHED, "the program or worker by name had the CPU after the wake-up", Certain),
    line(
        "network",
        &["irq_handler_entry|softirq_entry|sched_switch"],
        "the interrupt, softirq or thread by name",
        Certain,
    ),
    line("nmi", &["nmi_handler"], "its length, by the kernel's own measurement", Certain),
    line("numa-balancing", &[], "a function by name, where functions are recorded", Hint),
    line("other-rt-task", &["sched_switch"], "the priorities of both, and that the other had the CPU", Certain),
    line("own-tool", &["sched_switch"], "a thread of this tool had the CPU after the wake-up", Certain),
    line(
        "own-work",
        &["sched_switch"],
        "the watched thread had the CPU; in a guest certain only where the CPU recorded events throughout, likely where it was charged for nearly all of its time on the CPU",
        Certain,
    ),
    line(
        "page-fault",
        &["page_fault_user|page_fault_kernel|mm_page_alloc|rss_stat|function|sched_switch"],
        "the thread's own faults; how long one takes has no event",
        Likely,
    ),
    line(
        "previous-irq",
        &[
            "irq_handler_entry|local_timer_entry|reschedule_entry|call_function_entry|call_function_single_entry|irq_work_entry|hrtimer_expire_entry",
        ],
        "its entry and exit",
        Certain,
    ),
    line(
        "printk",
        &["console|sched_switch"],
        "the printing thread by name, or a message right before the interrupts came late",
        Certain,
    ),
    line("priority-changed", &["sched_switch"], "two priorities of the thread at two instants", Certain),
    line(
        "priority-inversion",
        &["sched_switch", "sched_waking"],
        "who ended the wait, and that a third task had that one's CPU",
        Certain,
    ),
    line("rcu", &["softirq_entry|sched_switch|csd_function_entry"], "the softirq, thread or function by name", Certain),
    line("reclaim", SWITCHED, "the thread by name had the CPU after the wake-up", Certain),
    line("reschedule-ipi", &["reschedule_entry"], "its entry and exit", Certain),
    line(
        "rt-throttling",
        &["sched_switch", "hrtimer_expire_entry"],
        "a less urgent task or none was chosen, and the period's timer ended it",
        Certain,
    ),
    line(
        "silence",
        &[],
        "a timer that was due on a CPU that served other interrupts, or on another CPU, or a pause inside of an interrupt or of a request for one; who had the time has no event",
        Likely,
    ),
    line("slab-shrink", &[], "a function by name, where functions are recorded", Hint),
    line("slow-bus", SERVED, "the interrupt or its thread by name", Certain),
    line("slow-return", &[], "the thread had the CPU; nothing shows why it was slow", Hint),
    line("smt", &[], "all phases take longer than in ordinary samples; no event shows why", Hint),
    line("softirq", &["softirq_entry|sched_switch"], "its entry and exit, or ksoftirqd on the CPU", Certain),
    line(
        "steal",
        &[],
        "the steal clock by sched_stat_runtime, the hypervisor's count of stolen time, or the host's own record; else a late timer on a CPU that cannot have masked interrupts",
        Certain,
    ),
    line("stop-machine", &["sched_switch"], "the thread migration/N had the CPU", Certain),
    line("storage", &["irq_handler_entry|sched_switch"], "the interrupt, worker or thread by name", Certain),
    line("text-patching", CALLED, "the function, between its entry and its exit", Certain),
    line("thermal", &[], "the processor's interrupt; its trace has not been seen", Hint),
    line(
        "thread-frozen",
        &["sched_switch"],
        "the thread slept without a timer, or its timer woke nobody, until a task woke it",
        Certain,
    ),
    line("thread-stopped", &["sched_switch"], "the thread left the CPU stopped or traced", Certain),
    line("threaded-irq", &["sched_switch"], "the thread irq/N-NAME had the CPU, and its priority", Certain),
    line("tick", EXPIRED, "the tick's function, between its entry and its exit", Certain),
    line(
        "timer-interrupt",
        &["local_timer_entry|hrtimer_expire_entry"],
        "the wake-up's own interrupt was long; what it did has no event",
        Likely,
    ),
    line("timer-slack", &["hrtimer_start"], "the timer's two expiries", Certain),
    line("timers", EXPIRED, "the functions, between their entries and exits", Certain),
    line("tlb-shootdown", CALLED, "the function, between its entry and its exit", Certain),
    line("usb", SERVED, "the controller's interrupt or its thread by name", Certain),
    line("vmstat", WORKED, "the worker and its function", Certain),
    line("waiting", &["sched_switch"], "the watched thread slept, and who woke it", Certain),
    line("watchdog", &["hrtimer_expire_entry|sched_switch"], "the watchdog's function or thread", Certain),
    line("workqueue", WORKED, "the worker had the CPU after the wake-up", Certain),
];

/// The line of a culprit.
pub fn of(culprit: &str) -> Option<&'static ProvenBy> {
    PROOFS.iter().find(|proof| proof.culprit == culprit)
}
