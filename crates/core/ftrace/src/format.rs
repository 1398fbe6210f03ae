//! Event formats: the kernel's description of each event in `events/SYSTEM/NAME/format`.
//!
//! Field layouts differ between kernel versions and architectures, so nothing outside this module knows an offset.

mod field;
mod text;

pub use field::{Field, Storage};

use crate::byte_order::ByteOrder;

/// One event: its ID, its fields and its print format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventFormat {
    /// `common_type` of its records.
    pub id: u16,
    pub system: String,
    pub name: String,
    /// Common fields first, in the order of the text.
    pub fields: Vec<Field>,
    /// The text after `print fmt:`; empty if there is none.
    pub print_fmt: String,
}

impl EventFormat {
    /// Parses a `format` file; `system` is the name of the directory above the event's. Invalid lines are ignored;
    /// `None` without an event ID, because no record could then be assigned to it.
    pub fn parse(system: &str, text: &str, byte_order: ByteOrder) -> Option<EventFormat> {
        let (head, print_fmt) = match text.split_once("\nprint fmt:") {
            Some((head, rest)) => (head, rest.trim()),
            None => (text, ""),
        };
        let mut name = String::new();
        let mut id = None;
        let mut fields = Vec::new();
        for line in head.lines() {
            if let Some(value) = line.strip_prefix("name:") {
                name = value.trim().to_owned();
            } else if let Some(value) = line.strip_prefix("ID:") {
                id = value.trim().parse().ok();
            } else if let Some(field) = Field::parse(line, byte_order) {
                fields.push(field);
            }
        }
        Some(EventFormat { id: id?, system: system.to_owned(), name, fields, print_fmt: print_fmt.to_owned() })
    }

    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The fields of this event without the common ones.
    pub fn own_fields(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(|field| !field.name.starts_with("common_"))
    }
}

/// The formats of a trace, by event ID or by name.
#[derive(Clone, Debug, Default)]
pub struct EventFormats {
    formats: Vec<EventFormat>,
    /// Index into `formats` plus one for each event ID; 0 is "unknown".
    index_by_id: Vec<u32>,
}

impl EventFormats {
    /// Adds a format; a later one with the same ID replaces the earlier one.
    pub fn insert(&mut self, format: EventFormat) {
        let id = usize::from(format.id);
        if self.index_by_id.len() <= id {
            self.index_by_id.resize(id + 1, 0);
        }
        match self.index_by_id[id] {
            0 => {
                self.formats.push(format);
                self.index_by_id[id] = self.formats.len() as u32;
            }
            taken => self.formats[taken as usize - 1] = format,
        }
    }

    #[inline]
    pub fn by_id(&self, id: u16) -> Option<&EventFormat> {
        let index = *self.index_by_id.get(usize::from(id))?;
        self.formats.get((index as usize).checked_sub(1)?)
    }

    pub fn find(&self, system: &str, name: &str) -> Option<&EventFormat> {
        self.formats.iter().find(|format| format.name == name && format.system == system)
    }

    pub fn iter(&self) -> impl Iterator<Item = &EventFormat> {
        self.formats.iter()
    }

    pub fn len(&self) -> usize {
        self.formats.len()
    }

    pub fn is_empty(&self) -> bool {
        self.formats.is_empty()
    }
}

impl Extend<EventFormat> for EventFormats {
    fn extend<I: IntoIterator<Item = EventFormat>>(&mut self, formats: I) {
        formats.into_iter().for_each(|format| self.insert(format));
    }
}

#[cfg(test)]
pub(crate) mod tests;
