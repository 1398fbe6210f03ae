//! The catalogue of culprits. How to add one: docs/adding-a-culprit.md.

mod blocking_task;
mod fair_server;
mod idle_exit;
mod irq_storm;
mod irqs_off;
mod late_arm;
mod migration;
mod nmi;
mod other_rt_task;
mod own_tool;
mod own_work;
mod page_fault;
mod previous_irq;
mod priority_inversion;
mod silence;
mod slow_return;
mod softirq;
mod steal;
mod thread_stopped;
mod timer_interrupt;
mod timer_slack;
mod timers;
mod waiting;

use crate::case::{Case, Claim};

/// An entry of the catalogue.
pub struct Culprit {
    /// Stable identifier, as it appears in archives.
    pub id: &'static str,
    pub title: &'static str,
    pub(crate) look: for<'c> fn(&Case<'c>) -> Option<Claim<'c>>,
}

/// In the order in which they may claim stretches of a ledger: the more specific first.
pub const CATALOGUE: &[Culprit] = &[
    Culprit { id: "thread-stopped", title: "the measuring thread was stopped", look: thread_stopped::look },
    Culprit { id: "priority-inversion", title: "priority inversion", look: priority_inversion::look },
    Culprit { id: "page-fault", title: "page fault of the thread", look: page_fault::look },
    Culprit { id: "waiting", title: "the thread waited in the middle of its work", look: waiting::look },
    Culprit { id: "timer-slack", title: "slack that the timer was given", look: timer_slack::look },
    Culprit { id: "late-arm", title: "the timer was set after it was due", look: late_arm::look },
    Culprit { id: "own-tool", title: "this tool's own threads", look: own_tool::look },
    Culprit { id: "silence", title: "hypervisor or firmware", look: silence::look },
    Culprit { id: "nmi", title: "non-maskable interrupt", look: nmi::look },
    Culprit { id: "irq-storm", title: "one interrupt again and again", look: irq_storm::look },
    Culprit { id: "timers", title: "other timers in the same interrupt", look: timers::look },
    Culprit { id: "previous-irq", title: "other interrupts were served first", look: previous_irq::look },
    Culprit { id: "timer-interrupt", title: "the timer interrupt itself was slow", look: timer_interrupt::look },
    Culprit { id: "softirq", title: "softirq work", look: softirq::look },
    Culprit { id: "other-rt-task", title: "another real-time task", look: other_rt_task::look },
    Culprit { id: "fair-server", title: "fair server or real-time throttling", look: fair_server::look },
    Culprit { id: "migration", title: "the thread was moved to another CPU", look: migration::look },
    Culprit { id: "idle-exit", title: "leaving an idle state", look: idle_exit::look },
    Culprit { id: "steal", title: "the hypervisor did not run this CPU", look: steal::look },
    Culprit { id: "irqs-off", title: "interrupts masked by a task", look: irqs_off::look },
    Culprit { id: "blocking-task", title: "a task that cannot be preempted", look: blocking_task::look },
    Culprit { id: "own-work", title: "the thread's own work", look: own_work::look },
    Culprit { id: "slow-return", title: "slow return to user space", look: slow_return::look },
];
