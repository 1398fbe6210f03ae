//! Converts kernel events to Perfetto messages: known ones to their typed messages, all others to name and values.

use super::super::protobuf::Message;
use crate::recorded::{RecordedEvent, RecordedText, RecordedValue, Recording};
use std::collections::{HashMap, HashSet};

const TIMESTAMP: u32 = 1;
const PID: u32 = 2;
pub const GENERIC: u32 = 327;
pub const GENERIC_EVENT_NAME: u32 = 1;
const GENERIC_FIELD: u32 = 2;
const GENERIC_FIELD_NAME: u32 = 1;
const GENERIC_FIELD_TEXT: u32 = 3;
const GENERIC_FIELD_SIGNED: u32 = 4;
const GENERIC_FIELD_UNSIGNED: u32 = 5;

/// An event with a typed Perfetto message: the kernel's names, the message's number in `FtraceEvent`, and the number of
/// each kernel field in it. Fields that are not listed are dropped.
struct Known {
    system: &'static str,
    name: &'static str,
    message: u32,
    fields: &'static [(&'static str, u32)],
}

const fn known(
    system: &'static str,
    name: &'static str,
    message: u32,
    fields: &'static [(&'static str, u32)],
) -> Known {
    Known { system, name, message, fields }
}

const WAKE: &[(&str, u32)] = &[("comm", 1), ("pid", 2), ("prio", 3), ("success", 4), ("target_cpu", 5)];
const WORK: &[(&str, u32)] = &[("work", 1), ("function", 2)];

const KNOWN: &[Known] = &[
    known(
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
    known("sched", "sched_wakeup", 17, WAKE),
    known("sched", "sched_waking", 20, WAKE),
    known("sched", "sched_wakeup_new", 114, WAKE),
    known("sched", "sched_pi_setprio", 353, &[("comm", 1), ("newprio", 2), ("oldprio", 3), ("pid", 4)]),
    known(
        "sched",
        "sched_migrate_task",
        491,
        &[("comm", 1), ("pid", 2), ("prio", 3), ("orig_cpu", 4), ("dest_cpu", 5)],
    ),
    known("power", "cpu_frequency", 11, &[("state", 1), ("cpu_id", 2)]),
    known("power", "cpu_idle", 13, &[("state", 1), ("cpu_id", 2)]),
    known("ipi", "ipi_entry", 21, &[("reason", 1)]),
    known("ipi", "ipi_exit", 22, &[("reason", 1)]),
    known("irq", "softirq_entry", 24, &[("vec", 1)]),
    known("irq", "softirq_exit", 25, &[("vec", 1)]),
    known("irq", "softirq_raise", 26, &[("vec", 1)]),
    known("irq", "irq_handler_entry", 36, &[("irq", 1), ("name", 2)]),
    known("irq", "irq_handler_exit", 37, &[("irq", 1), ("ret", 2)]),
    known("workqueue", "workqueue_execute_end", 57, WORK),
    known("workqueue", "workqueue_execute_start", 58, WORK),
    known("raw_syscalls", "sys_enter", 329, &[("id", 1)]),
    known("raw_syscalls", "sys_exit", 330, &[("id", 1), ("ret", 2)]),
    known("ftrace", "funcgraph_entry", 437, &[("depth", 1), ("func", 2)]),
    known(
        "ftrace",
        "funcgraph_exit",
        438,
        &[("calltime", 1), ("depth", 2), ("func", 3), ("overrun", 4), ("rettime", 5)],
    ),
    known(
        "timer",
        "hrtimer_start",
        551,
        &[("hrtimer", 1), ("function", 2), ("expires", 3), ("softexpires", 4), ("mode", 5)],
    ),
    known("timer", "hrtimer_cancel", 552, &[("hrtimer", 1)]),
    known("timer", "hrtimer_expire_entry", 553, &[("hrtimer", 1), ("now", 2), ("function", 3)]),
    known("timer", "hrtimer_expire_exit", 554, &[("hrtimer", 1)]),
    known("timer", "timer_start", 555, &[("timer", 1), ("function", 2), ("expires", 3), ("now", 4)]),
    known("timer", "timer_cancel", 556, &[("timer", 1)]),
    known("timer", "timer_expire_entry", 557, &[("timer", 1), ("now", 2), ("function", 3), ("baseclk", 4)]),
    known("timer", "timer_expire_exit", 558, &[("timer", 1)]),
    known("irq_vectors", "local_timer_entry", 559, &[("vector", 1)]),
    known("irq_vectors", "local_timer_exit", 560, &[("vector", 1)]),
];

/// Fields that hold the address of a function.
const FUNCTION_FIELDS: [&str; 8] = ["function", "func", "ip", "parent_ip", "handler", "callsite", "callback", "caller"];

/// Fields that are strings in Perfetto's messages.
const TEXT_FIELDS: [&str; 5] = ["comm", "prev_comm", "next_comm", "name", "reason"];

/// Writes the events of one recording.
pub struct FtraceEvents<'r> {
    recording: &'r Recording<'r>,
    printer: RecordedText<'r>,
    /// By the ID of the event in this recording.
    kinds: HashMap<u16, Option<&'static Known>>,
    /// Functions in typed messages, for the whole file.
    functions: &'r mut FunctionNames,
}

/// Functions that messages contain by address. Perfetto looks a name up by the number in the message, so the addresses
/// serve as numbers.
#[derive(Debug, Default)]
pub struct FunctionNames {
    known: HashSet<u64>,
    /// Names not yet in the file.
    fresh: Vec<(u64, String)>,
}

impl FunctionNames {
    fn learn(&mut self, address: u64, recording: &Recording<'_>) {
        if address != 0
            && self.known.insert(address)
            && let Some((name, _)) = recording.function(address)
        {
            self.fresh.push((address, name.to_owned()));
        }
    }

    /// The names added since the last call.
    pub fn take_fresh(&mut self) -> Vec<(u64, String)> {
        std::mem::take(&mut self.fresh)
    }
}

impl<'r> FtraceEvents<'r> {
    pub fn new(recording: &'r Recording<'r>, functions: &'r mut FunctionNames) -> Self {
        Self { recording, printer: recording.printer(), kinds: HashMap::new(), functions }
    }

    pub fn functions(&mut self) -> &mut FunctionNames {
        self.functions
    }

    /// Writes an event as one `FtraceEvent`.
    pub fn write(&mut self, event: &RecordedEvent<'_>, out: &mut Message) {
        out.unsigned(TIMESTAMP, event.ts_ns).signed(PID, i64::from(event.tid));
        let known = *self
            .kinds
            .entry(event.kind())
            .or_insert_with(|| KNOWN.iter().find(|known| known.name == event.name() && known.system == event.system()));
        match known {
            Some(known) => self.write_known(event, known, out),
            None => self.write_generic(event, out),
        }
    }

    fn write_known(&mut self, event: &RecordedEvent<'_>, known: &Known, out: &mut Message) {
        let (functions, printer, recording) = (&mut *self.functions, &mut self.printer, self.recording);
        out.message(known.message, |message| {
            for (name, value) in event.fields() {
                let Some(&(_, number)) = known.fields.iter().find(|(field, _)| *field == name) else { continue };
                match (value, TEXT_FIELDS.contains(&name)) {
                    (RecordedValue::Text(text), true) => message.text(number, &text),
                    (RecordedValue::Signed(value), false) => message.signed(number, value),
                    (RecordedValue::Unsigned(value), false) => {
                        if FUNCTION_FIELDS.contains(&name) {
                            functions.learn(value, recording);
                        }
                        message.unsigned(number, value)
                    }
                    // The address of a string; the kernel's print format of the event resolves it.
                    (RecordedValue::Unsigned(_), true) if name == "reason" => {
                        message.text(number, printer.of(event).trim_matches(['(', ')']))
                    }
                    _ => message,
                };
            }
        });
    }

    fn write_generic(&mut self, event: &RecordedEvent<'_>, out: &mut Message) {
        let recording = self.recording;
        let stack = event.name() == "kernel_stack" || event.name() == "user_stack";
        let stack = stack.then(|| callers(&self.printer.of(event)));
        out.message(GENERIC, |message| {
            match event.name() {
                "" => message.text(GENERIC_EVENT_NAME, &format!("event {}", event.kind())),
                name => message.text(GENERIC_EVENT_NAME, name),
            };
            if let Some(stack) = stack {
                message.message(GENERIC_FIELD, |field| {
                    field.text(GENERIC_FIELD_NAME, "stack").text(GENERIC_FIELD_TEXT, &stack);
                });
                return;
            }
            for (name, value) in event.fields() {
                message.message(GENERIC_FIELD, |field| {
                    field.text(GENERIC_FIELD_NAME, name);
                    match value {
                        RecordedValue::Signed(value) => field.signed(GENERIC_FIELD_SIGNED, value),
                        RecordedValue::Unsigned(value) => match recording.function(value) {
                            Some((function, _)) if FUNCTION_FIELDS.contains(&name) => {
                                field.text(GENERIC_FIELD_TEXT, function)
                            }
                            _ => field.unsigned(GENERIC_FIELD_UNSIGNED, value),
                        },
                        RecordedValue::Text(text) => field.text(GENERIC_FIELD_TEXT, &text),
                        RecordedValue::Numbers(numbers) => field.text(GENERIC_FIELD_TEXT, &format!("{numbers:x?}")),
                    };
                });
            }
        });
    }
}

/// A printed stack on one line, innermost function first.
fn callers(printed: &str) -> String {
    let lines = printed.lines().map(|line| line.trim().trim_start_matches("=> ")).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" < ")
}
