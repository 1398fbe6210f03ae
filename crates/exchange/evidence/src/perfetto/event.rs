//! The messages of events in `FtraceEvent`: the number of each, and of each of its fields that is read.

use super::message::{Fields, Value};

/// A message: its number, the kernel's name of its event, and the number of each of its fields by the kernel's name.
type Typed = (u32, &'static str, &'static [(&'static str, u32)]);

const WOKEN: &[(&str, u32)] = &[("comm", 1), ("pid", 2), ("prio", 3), ("target_cpu", 5)];
const VEC: &[(&str, u32)] = &[("vec", 1)];
const HRTIMER: &[(&str, u32)] = &[("hrtimer", 1)];
const TIMER: &[(&str, u32)] = &[("timer", 1), ("function", 3)];

const TYPED: [Typed; 28] = [
    (3, "print", &[("buf", 2)]),
    (
        4,
        "sched_switch",
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
    (11, "cpu_frequency", &[("state", 1), ("cpu_id", 2)]),
    (13, "cpu_idle", &[("state", 1)]),
    (17, "sched_wakeup", WOKEN),
    (20, "sched_waking", WOKEN),
    (24, "softirq_entry", VEC),
    (25, "softirq_exit", VEC),
    (26, "softirq_raise", VEC),
    (36, "irq_handler_entry", &[("irq", 1), ("name", 2)]),
    (37, "irq_handler_exit", &[("irq", 1)]),
    (57, "workqueue_execute_end", &[]),
    (114, "sched_wakeup_new", WOKEN),
    (236, "task_rename", &[("pid", 1), ("newcomm", 3)]),
    (238, "sched_process_exit", &[("comm", 1), ("pid", 2)]),
    (239, "sched_process_fork", &[("parent_pid", 2), ("child_pid", 4)]),
    (325, "signal_generate", &[("comm", 2), ("pid", 4), ("sig", 6)]),
    (353, "sched_pi_setprio", &[("comm", 1), ("newprio", 2), ("oldprio", 3), ("pid", 4)]),
    (491, "sched_migrate_task", &[("comm", 1), ("pid", 2), ("prio", 3), ("orig_cpu", 4), ("dest_cpu", 5)]),
    (551, "hrtimer_start", &[("hrtimer", 1), ("function", 2), ("expires", 3), ("softexpires", 4)]),
    (552, "hrtimer_cancel", HRTIMER),
    (553, "hrtimer_expire_entry", &[("hrtimer", 1), ("now", 2), ("function", 3)]),
    (554, "hrtimer_expire_exit", HRTIMER),
    (557, "timer_expire_entry", TIMER),
    (558, "timer_expire_exit", &[("timer", 1)]),
    (559, "local_timer_entry", &[]),
    (560, "local_timer_exit", &[]),
    (GENERIC, "", &[]),
];
/// An event without a message of its own has its name and the names of its fields.
const GENERIC: u32 = 327;
const GENERIC_NAME: u32 = 1;
const GENERIC_FIELD: u32 = 2;
const FIELD_NAME: u32 = 1;
const TIMESTAMP: u32 = 1;
const PID: u32 = 2;

/// An event as Perfetto stores it.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    pub ts_ns: u64,
    pub tid: i32,
    pub name: &'a str,
    body: &'a [u8],
    fields: &'static [(&'static str, u32)],
    is_generic: bool,
}

impl<'a> Event<'a> {
    /// `None` for an event whose message is not read.
    pub fn parse(message: &'a [u8]) -> Option<Self> {
        let (mut ts_ns, mut tid, mut found) = (None, None, None);
        for (number, value) in Fields(message) {
            match (number, value) {
                (TIMESTAMP, value) => ts_ns = value.number(),
                (PID, value) => tid = value.number().map(|tid| tid as i32),
                (_, Value::Bytes(body)) => {
                    found = TYPED.iter().find(|typed| typed.0 == number).map(|typed| (typed, body)).or(found);
                }
                _ => {}
            }
        }
        let ((number, name, fields), body) = found?;
        let is_generic = *number == GENERIC;
        let name = if is_generic { text(Fields(body).find(GENERIC_NAME)?)? } else { name };
        Some(Self { ts_ns: ts_ns?, tid: tid?, name, body, fields, is_generic })
    }

    /// The value of a field by the kernel's name.
    pub fn field(&self, name: &str) -> Option<Value<'a>> {
        if !self.is_generic {
            let number = self.fields.iter().find(|(field, _)| *field == name)?.1;
            return Fields(self.body).find(number);
        }
        let of_name = |field: &&[u8]| Fields(field).find(FIELD_NAME).and_then(text) == Some(name);
        let mut fields = Fields(self.body).filter(|(number, _)| *number == GENERIC_FIELD);
        let field = fields.find_map(|(_, value)| value.bytes().filter(of_name))?;
        Fields(field).find_map(|(number, value)| (number != FIELD_NAME).then_some(value))
    }
}

/// A text; `None` for a number and for bytes that are not UTF-8.
pub fn text(value: Value<'_>) -> Option<&str> {
    std::str::from_utf8(value.bytes()?).ok()
}
