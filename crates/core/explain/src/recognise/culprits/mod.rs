//! The catalogue of culprits. How to add one: docs/how-to/adding-a-culprit.md.

mod about;
mod acpi;
mod another_run;
mod blocking_task;
mod boosted_task;
mod cache_flush;
mod cfs_quota;
mod clock_step;
mod clocksource_watchdog;
mod compaction;
mod cpu_frequency;
mod cpu_hotplug;
mod efi_runtime;
mod fair_server;
mod firmware_call;
mod graphics;
mod idle_exit;
mod irq_storm;
mod irq_work;
mod irqs_off;
mod ksm;
mod late_arm;
mod membarrier;
mod memcg_drain;
mod memory_contention;
mod migration;
mod module_load;
mod named;
mod network;
mod nmi;
mod numa_balancing;
mod other_rt_task;
mod own_tool;
mod own_work;
mod page_fault;
mod passed_over;
mod previous_irq;
mod printk;
mod priority_changed;
mod priority_inversion;
pub mod proofs;
mod rcu;
mod reclaim;
mod reschedule_ipi;
mod rt_throttling;
mod silence;
mod slab_shrink;
mod slow_bus;
mod slow_return;
mod smt;
mod softirq;
mod steal;
mod stop_machine;
mod storage;
mod text_patching;
mod thermal;
mod thread_frozen;
mod thread_stopped;
mod threaded_irq;
mod tick;
mod timer_interrupt;
mod timer_slack;
mod timers;
mod tlb_shootdown;
mod usb;
mod vmstat;
mod waiting;
mod watchdog;
mod workqueue;

pub use about::{About, Proof};

use crate::recognise::case::{Case, Claim};

/// An entry of the catalogue.
pub struct Culprit {
    /// Stable identifier, as it appears in archives.
    pub id: &'static str,
    pub title: &'static str,
    pub about: &'static About,
    pub(crate) look: for<'c> fn(&Case<'c>) -> Option<Claim<'c>>,
}

/// Ties the identifier and the title of a culprit to its module.
macro_rules! culprit {
    ($module:ident, $id:literal, $title:literal) => {
        Culprit { id: $id, title: $title, about: &$module::ABOUT, look: $module::look }
    };
}

/// In the order in which they may claim stretches of a ledger: the more specific first.
pub const CATALOGUE: &[Culprit] = &[
    culprit!(thread_stopped, "thread-stopped", "the thread was stopped"),
    culprit!(thread_frozen, "thread-frozen", "the thread was frozen"),
    culprit!(clock_step, "clock-step", "the clock was stepped"),
    culprit!(priority_inversion, "priority-inversion", "priority inversion"),
    culprit!(priority_changed, "priority-changed", "another task changed the priority of the thread"),
    culprit!(page_fault, "page-fault", "page fault of the thread"),
    culprit!(waiting, "waiting", "the thread waited during its work"),
    culprit!(timer_slack, "timer-slack", "timer slack"),
    culprit!(late_arm, "late-arm", "the timer was set after it was due"),
    culprit!(own_tool, "own-tool", "this tool's own threads"),
    culprit!(another_run, "another-run", "another measurement with this tool"),
    culprit!(silence, "silence", "hypervisor or firmware"),
    culprit!(cfs_quota, "cfs-quota", "the control group used up its CPU quota"),
    culprit!(rt_throttling, "rt-throttling", "real-time throttling"),
    culprit!(fair_server, "fair-server", "the fair server"),
    culprit!(nmi, "nmi", "non-maskable interrupt"),
    culprit!(irq_storm, "irq-storm", "interrupt storm"),
    culprit!(tlb_shootdown, "tlb-shootdown", "another CPU changed an address space"),
    culprit!(text_patching, "text-patching", "the kernel changed its own code"),
    culprit!(cache_flush, "cache-flush", "all caches were flushed"),
    culprit!(membarrier, "membarrier", "a memory barrier requested by another process"),
    culprit!(rcu, "rcu", "RCU"),
    culprit!(irq_work, "irq-work", "deferred irq_work"),
    culprit!(reschedule_ipi, "reschedule-ipi", "another CPU asked this one to reschedule"),
    culprit!(thermal, "thermal", "the processor was too hot"),
    culprit!(network, "network", "network card"),
    culprit!(usb, "usb", "USB controller"),
    culprit!(storage, "storage", "disk or memory card"),
    culprit!(slow_bus, "slow-bus", "serial port, SPI, I2C or GPIO"),
    culprit!(graphics, "graphics", "graphics driver"),
    culprit!(acpi, "acpi", "ACPI and the embedded controller"),
    culprit!(efi_runtime, "efi-runtime", "a service of the EFI firmware"),
    culprit!(firmware_call, "firmware-call", "the firmware of the board"),
    culprit!(tick, "tick", "the scheduler tick"),
    culprit!(watchdog, "watchdog", "the lockup watchdog"),
    culprit!(clocksource_watchdog, "clocksource-watchdog", "the kernel checked its clocks"),
    culprit!(timers, "timers", "other timers in the same interrupt"),
    culprit!(previous_irq, "previous-irq", "other interrupts ran first"),
    culprit!(smt, "smt", "the other thread of the core was busy"),
    culprit!(memory_contention, "memory-contention", "contention for memory or caches"),
    culprit!(timer_interrupt, "timer-interrupt", "the timer interrupt itself was slow"),
    culprit!(softirq, "softirq", "softirq work"),
    culprit!(stop_machine, "stop-machine", "the kernel stopped a CPU"),
    culprit!(threaded_irq, "threaded-irq", "an interrupt thread"),
    culprit!(cpu_frequency, "cpu-frequency", "a change of CPU frequency"),
    culprit!(boosted_task, "boosted-task", "a task that runs by priority inheritance"),
    culprit!(other_rt_task, "other-rt-task", "another real-time task"),
    culprit!(migration, "migration", "the thread was moved to another CPU"),
    culprit!(idle_exit, "idle-exit", "leaving an idle state"),
    culprit!(steal, "steal", "the hypervisor did not run this CPU"),
    culprit!(printk, "printk", "the kernel wrote to a console"),
    culprit!(irqs_off, "irqs-off", "interrupts masked by a task"),
    culprit!(slab_shrink, "slab-shrink", "the kernel shrank its caches"),
    culprit!(reclaim, "reclaim", "memory reclaim"),
    culprit!(compaction, "compaction", "memory compaction"),
    culprit!(ksm, "ksm", "identical pages were merged (KSM)"),
    culprit!(numa_balancing, "numa-balancing", "automatic NUMA balancing"),
    culprit!(vmstat, "vmstat", "memory statistics were folded"),
    culprit!(memcg_drain, "memcg-drain", "drain of a memory control group"),
    culprit!(module_load, "module-load", "a module or device was set up"),
    culprit!(cpu_hotplug, "cpu-hotplug", "a CPU went on- or offline"),
    culprit!(workqueue, "workqueue", "a kernel worker"),
    culprit!(blocking_task, "blocking-task", "a task that cannot be preempted"),
    culprit!(own_work, "own-work", "the thread's own work"),
    culprit!(slow_return, "slow-return", "slow return to user space"),
];
