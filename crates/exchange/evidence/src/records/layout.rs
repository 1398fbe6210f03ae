//! Records of events that were in another form: numbers of eight bytes and names of sixteen, in the order of their fields.

use super::event::{Kind, Known, is_vector, known};
use std::fmt::Write;

const HEAD_BYTES: usize = 8;
const NUMBER_BYTES: usize = 8;
const NAME_BYTES: usize = 16;

const TEXT_BYTES_MAX: usize = 500;

/// How records of one event are laid out.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    pub number: u16,
    pub system: &'static str,
    /// `None`: the whole text is one field.
    pub known: Option<Known>,
    /// An interrupt of x86 or of one CPU to another.
    pub is_vector: bool,
}

impl Layout {
    pub fn of(number: u16, name: &str) -> Self {
        if is_vector(name) {
            let known = Known { system: "irq_vectors", name: "", fields: &[] };
            return Self { number, system: known.system, known: Some(known), is_vector: true };
        }
        let known = known(name);
        // What programs write to the trace.
        let marks = ["print", "tracing_mark_write"].contains(&name);
        let system = known.map_or(if marks { "ftrace" } else { "text" }, |known| known.system);
        Self { number, system, known, is_vector: false }
    }

    /// Appends the common fields of a record.
    pub fn push_head(&self, payload: &mut Vec<u8>, flags: u8, depth: u8, tid: i32) {
        payload.extend(self.number.to_le_bytes());
        payload.extend([flags, depth & 0x0f]);
        payload.extend(tid.to_le_bytes());
    }

    /// The text that describes it.
    pub fn text(&self, name: &str) -> String {
        let name = if self.system == "ftrace" { "print" } else { name };
        let mut text = format!(
            "name: {name}\nID: {}\nformat:\n\
             \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
             \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
             \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
             \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n",
            self.number
        );
        let mut offset = HEAD_BYTES;
        for (_, field, kind) in self.known.iter().flat_map(|known| known.fields) {
            let (declared, bytes, signed) = match kind {
                Kind::Name => (format!("char {field}[16]"), NAME_BYTES, 0),
                // Of this type are addresses of code.
                Kind::Function => (format!("void * {field}"), NUMBER_BYTES, 0),
                Kind::Address => (format!("u64 {field}"), NUMBER_BYTES, 0),
                Kind::Number | Kind::State => (format!("s64 {field}"), NUMBER_BYTES, 1),
            };
            let _ = writeln!(text, "\tfield:{declared};\toffset:{offset};\tsize:{bytes};\tsigned:{signed};");
            offset += bytes;
        }
        if self.known.is_none() {
            text += "\tfield:char buf[];\toffset:8;\tsize:0;\tsigned:0;\n\nprint fmt: \"%s\", REC->buf\n";
        }
        text
    }
}

/// Appends a name in its sixteen bytes.
pub fn push_name(payload: &mut Vec<u8>, name: &str) {
    let end = payload.len() + NAME_BYTES;
    payload.extend_from_slice(&name.as_bytes()[..name.len().min(NAME_BYTES - 1)]);
    payload.resize(end, 0);
}

/// Appends a text up to the end of the record. Nobody reads the rest of a long one.
pub fn push_text(payload: &mut Vec<u8>, text: &str) {
    payload.extend_from_slice(&text.as_bytes()[..text.len().min(TEXT_BYTES_MAX)]);
    payload.push(0);
    payload.resize(payload.len().next_multiple_of(4), 0);
}
