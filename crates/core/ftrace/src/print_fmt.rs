//! Formats events as text.
//!
//! The kernel describes each event's text in C: a printf format and expressions over its fields. This module interprets
//! enough of it for nearly every event; others are printed as `name=value` of their fields.

mod conversion;
mod digits;
mod expression;
mod lexer;
mod parser;
mod value;

use crate::format::{EventFormat, Storage};
use crate::metadata::Metadata;
use crate::stack::StackFields;
use crate::trace_dat::Record;

use self::conversion::Piece;
use self::expression::Expression;
use self::value::Context;

/// Prints the events of one trace. Each event's format is parsed once, when it first occurs.
#[derive(Debug)]
pub struct EventPrinter<'m> {
    metadata: &'m Metadata,
    /// By event number.
    templates: Vec<Option<Template>>,
}

/// How to format one event.
#[derive(Debug)]
enum Template {
    Interpreted {
        pieces: Vec<Piece>,
        arguments: Vec<Expression>,
    },
    /// `name=value` of each field.
    Fields,
    /// The message alone; a marker is always written from the same kernel function.
    Marker,
    /// One line per caller.
    Stack(StackFields),
}

impl<'m> EventPrinter<'m> {
    pub fn new(metadata: &'m Metadata) -> EventPrinter<'m> {
        EventPrinter { metadata, templates: Vec::new() }
    }

    /// Name of the event of a record; `None` if its format is not in the trace.
    pub fn name(&self, record: &Record<'_>) -> Option<&'m str> {
        self.metadata.formats.by_id(record.id).map(|format| format.name.as_str())
    }

    /// Appends the text of the record's own fields: no time, CPU or thread, no line end.
    pub fn print(&mut self, record: &Record<'_>, out: &mut String) {
        let Some(format) = self.metadata.formats.by_id(record.id) else {
            out.push_str("unknown event ");
            digits::decimal(u64::from(record.id), out);
            return;
        };
        let index = usize::from(record.id);
        if self.templates.len() <= index {
            self.templates.resize_with(index + 1, || None);
        }
        let context = Context { payload: record.payload, metadata: self.metadata };
        let template = self.templates[index].get_or_insert_with(|| Template::of(format));
        template.print(format, context, out);
    }

    /// Whether this event is printed by the kernel's description, rather than as names and values of its fields.
    pub fn interprets(format: &EventFormat) -> bool {
        !matches!(Template::of(format), Template::Fields)
    }
}

impl Template {
    fn of(format: &EventFormat) -> Template {
        if (format.system.as_str(), format.name.as_str()) == ("ftrace", "print") && format.field("buf").is_some() {
            return Template::Marker;
        }
        if let Some(stack) = StackFields::of(format) {
            return Template::Stack(stack);
        }
        let understood = parser::parse(&format.print_fmt, format).and_then(|(text, arguments)| {
            let pieces = conversion::parse(&text)?;
            let wanted: usize = pieces.iter().map(Piece::arguments).sum();
            (wanted <= arguments.len()).then_some(Template::Interpreted { pieces, arguments })
        });
        understood.unwrap_or(Template::Fields)
    }

    fn print(&self, format: &EventFormat, context: Context<'_>, out: &mut String) {
        let start = out.len();
        match self {
            Template::Interpreted { pieces, arguments } => {
                if conversion::print(pieces, arguments, context, out).is_none() {
                    // A field extends past the record: print the rest.
                    out.truncate(start);
                    print_fields(format, context, out);
                }
            }
            Template::Fields => print_fields(format, context, out),
            Template::Marker => {
                let text = format.field("buf").and_then(|field| field.text(context.payload)).unwrap_or_default();
                out.push_str(text.trim_end_matches('\n'));
            }
            Template::Stack(stack) => print_stack(stack, context, out),
        }
    }
}

fn print_fields(format: &EventFormat, context: Context<'_>, out: &mut String) {
    let start = out.len();
    for field in format.own_fields() {
        if out.len() > start {
            out.push(' ');
        }
        out.push_str(&field.name);
        out.push('=');
        if field.is_text() {
            out.push_str(&field.text(context.payload).unwrap_or("?".into()));
        } else if field.storage == Storage::Value {
            let value = field.uint(context.payload);
            match (value, field.int(context.payload)) {
                (Some(_), Some(value)) if field.signed => digits::signed(value, out),
                (Some(value), _) if field.type_name.ends_with('*') => context.print_address(value, false, out),
                (Some(value), _) => digits::decimal(value, out),
                _ => print_bytes(field.bytes(context.payload), out),
            }
        } else {
            print_bytes(field.bytes(context.payload), out);
        }
    }
}

fn print_bytes(bytes: Option<&[u8]>, out: &mut String) {
    let Some(bytes) = bytes else {
        out.push('?');
        return;
    };
    for &byte in bytes {
        digits::hex_padded(u64::from(byte), 2, out);
    }
}

fn print_stack(stack: &StackFields, context: Context<'_>, out: &mut String) {
    for caller in stack.callers(context.payload) {
        out.push_str("\n => ");
        context.print_address(caller, true, out);
    }
}

#[cfg(test)]
mod tests;
