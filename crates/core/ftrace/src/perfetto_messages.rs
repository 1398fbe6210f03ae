//! Numbers of Perfetto's messages for events of ftrace: `FtraceEvent` of its protocol.

pub const TIMESTAMP: u32 = 1;
pub const PID: u32 = 2;
/// The message of an event without one of its own: the names of the event and of its fields.
pub const GENERIC: u32 = 327;
pub const GENERIC_EVENT_NAME: u32 = 1;
pub const GENERIC_FIELD: u32 = 2;
pub const GENERIC_FIELD_NAME: u32 = 1;

/// An event with a message of its own: the kernel's names, the message's number in `FtraceEvent`, and the number of each
/// of the kernel's fields in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypedMessage {
    pub system: &'static str,
    pub name: &'static str,
    pub message: u32,
    pub fields: &'static [(&'static str, u32)],
}

impl TypedMessage {
    /// The message of an event; `None` for one whose fields are not listed in full.
    pub fn of(system: &str, name: &str) -> Option<&'static Self> {
        TYPED.iter().find(|typed| typed.name == name && typed.system == system)
    }

    /// The message with a number.
    pub fn numbered(message: u32) -> Option<&'static Self> {
        TYPED.iter().find(|typed| typed.message == message).or(PARTS.iter().find(|typed| typed.message == message))
    }
}

const fn typed(
    system: &'static str,
    name: &'static str,
    message: u32,
    fields: &'static [(&'static str, u32)],
) -> TypedMessage {
    TypedMessage { system, name, message, fields }
}

const WAKE: &[(&str, u32)] = &[("comm", 1), ("pid", 2), ("prio", 3), ("success", 4), ("target_cpu", 5)];
const WORK: &[(&str, u32)] = &[("work", 1), ("function", 2)];

const TYPED: &[TypedMessage] = &[
    typed(
        "sched",
        "sched_switch",
        4,
        &[
            ("prev_comm", 1),
            ("prev_pid", 2),
            ("prev_prio", 3),
            ("prev_state", 4),
            ("next_comm", 5),
            ("next_pid", 6),
            ("next_prio", 7),
        ],
    ),
    typed("sched", "sched_wakeup", 17, WAKE),
    typed("sched", "sched_waking", 20, WAKE),
    typed("sched", "sched_wakeup_new", 114, WAKE),
    typed("sched", "sched_pi_setprio", 353, &[("comm", 1), ("newprio", 2), ("oldprio", 3), ("pid", 4)]),
    typed(
        "sched",
        "sched_migrate_task",
        491,
        &[("comm", 1), ("pid", 2), ("prio", 3), ("orig_cpu", 4), ("dest_cpu", 5)],
    ),
    typed("power", "cpu_frequency", 11, &[("state", 1), ("cpu_id", 2)]),
    typed("power", "cpu_idle", 13, &[("state", 1), ("cpu_id", 2)]),
    typed("ipi", "ipi_entry", 21, &[("reason", 1)]),
    typed("ipi", "ipi_exit", 22, &[("reason", 1)]),
    typed("irq", "softirq_entry", 24, &[("vec", 1)]),
    typed("irq", "softirq_exit", 25, &[("vec", 1)]),
    typed("irq", "softirq_raise", 26, &[("vec", 1)]),
    typed("irq", "irq_handler_entry", 36, &[("irq", 1), ("name", 2)]),
    typed("irq", "irq_handler_exit", 37, &[("irq", 1), ("ret", 2)]),
    typed("workqueue", "workqueue_execute_end", 57, WORK),
    typed("workqueue", "workqueue_execute_start", 58, WORK),
    typed("raw_syscalls", "sys_enter", 329, &[("id", 1)]),
    typed("raw_syscalls", "sys_exit", 330, &[("id", 1), ("ret", 2)]),
    typed("ftrace", "funcgraph_entry", 437, &[("depth", 1), ("func", 2)]),
    typed(
        "ftrace",
        "funcgraph_exit",
        438,
        &[("calltime", 1), ("depth", 2), ("func", 3), ("overrun", 4), ("rettime", 5)],
    ),
    typed(
        "timer",
        "hrtimer_start",
        551,
        &[("hrtimer", 1), ("function", 2), ("expires", 3), ("softexpires", 4), ("mode", 5)],
    ),
    typed("timer", "hrtimer_cancel", 552, &[("hrtimer", 1)]),
    typed("timer", "hrtimer_expire_entry", 553, &[("hrtimer", 1), ("now", 2), ("function", 3)]),
    typed("timer", "hrtimer_expire_exit", 554, &[("hrtimer", 1)]),
    typed("timer", "timer_start", 555, &[("timer", 1), ("function", 2), ("expires", 3), ("now", 4)]),
    typed("timer", "timer_cancel", 556, &[("timer", 1)]),
    typed("timer", "timer_expire_entry", 557, &[("timer", 1), ("now", 2), ("function", 3), ("baseclk", 4)]),
    typed("timer", "timer_expire_exit", 558, &[("timer", 1)]),
    typed("irq_vectors", "local_timer_entry", 559, &[("vector", 1)]),
    typed("irq_vectors", "local_timer_exit", 560, &[("vector", 1)]),
];

/// Messages of which only these fields are listed: enough for a reader, too little for a writer.
const PARTS: &[TypedMessage] = &[
    typed("ftrace", "print", 3, &[("buf", 2)]),
    typed("task", "task_rename", 236, &[("pid", 1), ("newcomm", 3)]),
    typed("sched", "sched_process_exit", 238, &[("comm", 1), ("pid", 2)]),
    typed("sched", "sched_process_fork", 239, &[("parent_pid", 2), ("child_pid", 4)]),
    typed("signal", "signal_generate", 325, &[("comm", 2), ("pid", 4), ("sig", 6)]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_names_one_event() {
        for typed in TYPED.iter().chain(PARTS) {
            assert_eq!(TypedMessage::numbered(typed.message), Some(typed));
        }
        assert_eq!(TypedMessage::of("task", "task_rename"), None);
    }
}
