//! The meaning of the kernel's functions for the account of a wake-up, by name.

use crate::read::event::Vector;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Plain,
    /// A jump on the way to a function; its time counts for its caller.
    Passage,
    /// First function of an interrupt; `None`: of a device.
    Interrupt(Option<Vector>),
    /// First function of a fault.
    Fault {
        of_page: bool,
    },
    /// The interrupt's own work is done; softirqs and the return follow.
    InterruptDone,
    /// Runs the softirq with this number.
    Softirq(u32),
    /// Runs the functions of expired timers.
    Timers,
    /// Runs a timer between the functions of timers.
    TimerBook,
    /// Arms a timer.
    Arms,
    /// The function of a timer that wakes a sleeper.
    WakesSleeper,
    /// Wakes a thread.
    Wakes,
    /// The thread is runnable.
    Woken,
    /// A real-time thread is made runnable.
    QueuesRealTime,
    /// Chooses the next thread.
    Schedules,
    /// Switches to the stack of another thread.
    Switches,
    /// Called where a thread yields without having to wait.
    GivesWay,
    /// Called where a thread yields, for any reason.
    MayWait,
    /// The exit from the kernel.
    LeavesKernel,
    /// Takes a lock of softirqs, which disables preemption without any trace in its code.
    LocksSoftirqs,
}

const PASSAGES: [&str; 7] = [
    "__x86_indirect_",
    "__x86_return_thunk",
    "__SCT__",
    "srso_",
    "retbleed_",
    "irq_entries_start",
    "spurious_entries_start",
];

pub fn role_of(name: &str) -> Role {
    if PASSAGES.iter().any(|passage| name.starts_with(passage)) {
        return Role::Passage;
    }
    if let Some(vector) = name.strip_prefix("asm_sysvec_") {
        return Role::Interrupt(Some(match vector {
            "apic_timer_interrupt" => Vector::LocalTimer,
            "reschedule_ipi" => Vector::Reschedule,
            "call_function" => Vector::CallFunction,
            "call_function_single" => Vector::CallFunctionSingle,
            "irq_work" => Vector::IrqWork,
            "error_interrupt" => Vector::ErrorApic,
            "spurious_apic_interrupt" => Vector::SpuriousApic,
            _ => Vector::Unnamed,
        }));
    }
    match name {
        "asm_common_interrupt" | "asm_spurious_interrupt" => Role::Interrupt(None),
        "asm_exc_page_fault" => Role::Fault { of_page: true },
        _ if name.starts_with("asm_exc_") => Role::Fault { of_page: false },
        "irq_exit_rcu" | "__irq_exit_rcu" | "irq_exit" => Role::InterruptDone,
        "tasklet_hi_action" | "workqueue_softirq_action" => Role::Softirq(0),
        "run_timer_softirq" => Role::Softirq(1),
        "net_tx_action" => Role::Softirq(2),
        "net_rx_action" => Role::Softirq(3),
        "blk_done_softirq" => Role::Softirq(4),
        "irq_poll_softirq" => Role::Softirq(5),
        "tasklet_action" => Role::Softirq(6),
        "run_rebalance_domains" | "sched_balance_softirq" => Role::Softirq(7),
        "hrtimer_run_softirq" => Role::Softirq(8),
        "rcu_core_si" | "rcu_process_callbacks" => Role::Softirq(9),
        "__hrtimer_run_queues" => Role::Timers,
        "__remove_hrtimer" | "enqueue_hrtimer" | "ktime_get" | "hrtimer_forward" => Role::TimerBook,
        "hrtimer_start_range_ns" => Role::Arms,
        "hrtimer_wakeup" => Role::WakesSleeper,
        "try_to_wake_up" => Role::Wakes,
        "ttwu_do_wakeup" => Role::Woken,
        "enqueue_task_rt" | "enqueue_task_dl" => Role::QueuesRealTime,
        "__schedule" | "__schedule.constprop.0" => Role::Schedules,
        "__switch_to_asm" => Role::Switches,
        "__cond_resched" | "schedule_idle" => Role::GivesWay,
        _ if name.starts_with("preempt_schedule") => Role::GivesWay,
        "schedule" | "schedule_rtlock" => Role::MayWait,
        _ if name.starts_with("exit_to_user_mode") || name.starts_with("irqentry_exit") => Role::LeavesKernel,
        _ if name.starts_with("timerqueue_") || name.starts_with("_raw_spin_") && name.contains("lock_irq") => {
            Role::TimerBook
        }
        "_raw_spin_unlock" | "_raw_spin_lock" => Role::TimerBook,
        _ if name.ends_with("lock_bh") => Role::LocksSoftirqs,
        _ => Role::Plain,
    }
}
