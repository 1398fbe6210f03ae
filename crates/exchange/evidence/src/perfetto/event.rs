//! Events of a Perfetto trace, with their fields by the kernel's names.

use super::message::{Fields, Value};
use crate::records::event::{is_vector, known};
use ftrace::perfetto_messages::{
    GENERIC, GENERIC_EVENT_NAME, GENERIC_FIELD, GENERIC_FIELD_NAME, PID, TIMESTAMP, TypedMessage,
};

/// An event as Perfetto stores it.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    pub ts_ns: u64,
    pub tid: i32,
    pub name: &'a str,
    body: &'a [u8],
    /// `None` for one whose fields have their names.
    typed: Option<&'static TypedMessage>,
}

/// The message of an event in `FtraceEvent`.
struct Named<'a> {
    name: &'a str,
    body: &'a [u8],
    typed: Option<&'static TypedMessage>,
}

impl<'a> Named<'a> {
    fn of(number: u32, body: &'a [u8]) -> Option<Self> {
        if number == GENERIC {
            return Some(Self { name: text(Fields(body).find(GENERIC_EVENT_NAME)?)?, body, typed: None });
        }
        let is_read =
            |typed: &&TypedMessage| typed.name == "print" || is_vector(typed.name) || known(typed.name).is_some();
        let typed = TypedMessage::numbered(number).filter(is_read)?;
        Some(Self { name: typed.name, body, typed: Some(typed) })
    }
}

impl<'a> Event<'a> {
    /// `None` for an event whose message is not read.
    pub fn parse(message: &'a [u8]) -> Option<Self> {
        let (mut ts_ns, mut tid, mut found) = (None, None, None);
        for (number, value) in Fields(message) {
            match (number, value) {
                (TIMESTAMP, value) => ts_ns = value.number(),
                (PID, value) => tid = value.number().map(|tid| tid as i32),
                (_, Value::Bytes(body)) => found = Named::of(number, body).or(found),
                _ => {}
            }
        }
        let Named { name, body, typed } = found?;
        Some(Self { ts_ns: ts_ns?, tid: tid?, name, body, typed })
    }

    /// The value of a field by the kernel's name.
    pub fn field(&self, name: &str) -> Option<Value<'a>> {
        if let Some(typed) = self.typed {
            let number = typed.fields.iter().find(|(field, _)| *field == name)?.1;
            return Fields(self.body).find(number);
        }
        let of_name = |field: &&[u8]| Fields(field).find(GENERIC_FIELD_NAME).and_then(text) == Some(name);
        let mut fields = Fields(self.body).filter(|(number, _)| *number == GENERIC_FIELD);
        let field = fields.find_map(|(_, value)| value.bytes().filter(of_name))?;
        Fields(field).find_map(|(number, value)| (number != GENERIC_FIELD_NAME).then_some(value))
    }
}

/// A text; `None` for a number and for bytes that are not UTF-8.
pub fn text(value: Value<'_>) -> Option<&str> {
    std::str::from_utf8(value.bytes()?).ok()
}
