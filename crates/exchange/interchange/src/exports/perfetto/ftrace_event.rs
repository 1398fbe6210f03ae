//! Converts kernel events to Perfetto messages: known ones to their typed messages, all others to name and values.

use super::super::protobuf::Message;
use crate::recorded::{RecordedEvent, RecordedText, RecordedValue, Recording};
use ftrace::perfetto_messages::{
    GENERIC, GENERIC_EVENT_NAME, GENERIC_FIELD, GENERIC_FIELD_NAME, PID, TIMESTAMP, TypedMessage,
};
use std::collections::{HashMap, HashSet};

const GENERIC_FIELD_TEXT: u32 = 3;
const GENERIC_FIELD_SIGNED: u32 = 4;
const GENERIC_FIELD_UNSIGNED: u32 = 5;

/// Fields that hold the address of a function.
const FUNCTION_FIELDS: [&str; 8] = ["function", "func", "ip", "parent_ip", "handler", "callsite", "callback", "caller"];

/// Fields that are strings in Perfetto's messages.
const TEXT_FIELDS: [&str; 5] = ["comm", "prev_comm", "next_comm", "name", "reason"];

/// Writes the events of one recording.
pub struct FtraceEvents<'r> {
    recording: &'r Recording<'r>,
    printer: RecordedText<'r>,
    /// By the ID of the event in this recording.
    kinds: HashMap<u16, Option<&'static TypedMessage>>,
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
        let known = *self.kinds.entry(event.kind()).or_insert_with(|| TypedMessage::of(event.system(), event.name()));
        match known {
            Some(known) => self.write_known(event, known, out),
            None => self.write_generic(event, out),
        }
    }

    fn write_known(&mut self, event: &RecordedEvent<'_>, known: &TypedMessage, out: &mut Message) {
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
