//! One field of an event: its place in a record and how to read it.

use std::borrow::Cow;

use crate::byte_order::{ByteOrder, sign_extend};

/// How a field is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// At the field's offset, `size` bytes.
    Value,
    /// This many elements at the field's offset; `None` extends to the end of the record.
    Array { count: Option<usize> },
    /// The field holds a `u32`: low 16 bits the offset from the start of the record, high 16 bits the length.
    DataLoc,
    /// Like `DataLoc`, but the offset counts from the end of the field itself.
    RelLoc,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    /// The C type as the kernel prints it, without `[...]` and `__data_loc`.
    pub type_name: String,
    /// From the start of the record, in bytes.
    pub offset: usize,
    /// Size of the whole field, in bytes; 0 for an array that extends to the end of the record.
    pub size: usize,
    /// Size of one element of an array; the same as `size` for a value.
    pub element_size: usize,
    pub signed: bool,
    pub storage: Storage,
    byte_order: ByteOrder,
}

impl Field {
    /// Parses a line such as `field:char prev_comm[16]; offset:8; size:16; signed:0;`.
    pub(super) fn parse(line: &str, byte_order: ByteOrder) -> Option<Field> {
        let line = line.trim();
        let mut parts = line.strip_prefix("field:").or_else(|| line.strip_prefix("field special:"))?.split(';');
        let declaration = parts.next()?.trim();
        let (mut offset, mut size, mut signed) = (None, None, false);
        for part in parts {
            match part.trim().split_once(':') {
                Some(("offset", value)) => offset = value.trim().parse::<usize>().ok(),
                Some(("size", value)) => size = value.trim().parse::<usize>().ok(),
                Some(("signed", value)) => signed = value.trim() == "1",
                _ => {}
            }
        }
        let (offset, size) = (offset?, size?);
        let (dynamic, declaration) = match declaration.split_once(' ') {
            Some(("__data_loc", rest)) => (Some(Storage::DataLoc), rest),
            Some(("__rel_loc", rest)) => (Some(Storage::RelLoc), rest),
            _ => (None, declaration),
        };
        let (type_name, name, brackets) = split_declaration(declaration)?;
        let storage = match (dynamic, brackets) {
            (Some(storage), _) => storage,
            (None, None) => Storage::Value,
            (None, Some(_)) if size == 0 => Storage::Array { count: None },
            (None, Some(text)) => Storage::Array { count: text.trim().parse().ok().filter(|&count| count > 0) },
        };
        let element_size = match storage {
            Storage::Value => size,
            Storage::Array { count: Some(count) } if size % count == 0 => size / count,
            _ => element_size(type_name),
        };
        let (name, type_name) = (name.to_owned(), type_name.to_owned());
        Some(Field { name, type_name, offset, size, element_size, signed, storage, byte_order })
    }

    /// The value of an integer, pointer or enum field.
    #[inline]
    pub fn uint(&self, payload: &[u8]) -> Option<u64> {
        self.byte_order.uint_at(payload, self.offset, self.size)
    }

    /// The value of an integer field, sign-extended if the field is signed.
    #[inline]
    pub fn int(&self, payload: &[u8]) -> Option<i64> {
        let value = self.uint(payload)?;
        Some(if self.signed { sign_extend(value, self.size) } else { value as i64 })
    }

    /// The bytes of the field, wherever they are in the record; `None` if they extend past its end.
    pub fn bytes<'a>(&self, payload: &'a [u8]) -> Option<&'a [u8]> {
        let (start, length) = match self.storage {
            Storage::Array { count: None } if self.size == 0 => return payload.get(self.offset..),
            Storage::Value | Storage::Array { .. } => (self.offset, self.size),
            Storage::DataLoc | Storage::RelLoc => {
                let place = self.byte_order.u32_at(payload, self.offset)?;
                let base = if self.storage == Storage::RelLoc { self.offset.checked_add(4)? } else { 0 };
                (base.checked_add((place & 0xffff) as usize)?, (place >> 16) as usize)
            }
        };
        payload.get(start..start.checked_add(length)?)
    }

    /// The bytes of a string field up to its NUL.
    pub fn c_str<'a>(&self, payload: &'a [u8]) -> Option<&'a [u8]> {
        let bytes = self.bytes(payload)?;
        Some(bytes.split(|&byte| byte == 0).next().unwrap_or(bytes))
    }

    /// A string field as text; invalid UTF-8 becomes U+FFFD.
    pub fn text<'a>(&self, payload: &'a [u8]) -> Option<Cow<'a, str>> {
        self.c_str(payload).map(String::from_utf8_lossy)
    }

    /// One element of an array field, without sign extension.
    pub fn element(&self, payload: &[u8], index: usize) -> Option<u64> {
        let bytes = self.bytes(payload)?;
        self.byte_order.uint_at(bytes, index.checked_mul(self.element_size)?, self.element_size)
    }

    /// The elements of an array field and those behind it, up to the end of the record: for arrays that are longer than
    /// declared.
    pub fn elements_to_end<'a>(&'a self, payload: &'a [u8]) -> impl Iterator<Item = u64> + 'a {
        let bytes = payload.get(self.offset..).unwrap_or(&[]);
        let element = |bytes: &[u8]| self.byte_order.uint_at(bytes, 0, self.element_size);
        bytes.chunks_exact(self.element_size.max(1)).map_while(element)
    }

    /// The largest value of an element.
    pub fn element_max(&self) -> u64 {
        u64::MAX >> (64 - 8 * self.element_size.clamp(1, 8))
    }

    /// Whether the field contains characters rather than numbers; the kernel declares bytes that are not text as
    /// `unsigned char`.
    pub fn is_text(&self) -> bool {
        self.storage != Storage::Value && matches!(self.type_name.as_str(), "char" | "const char")
    }
}

/// `const char * name` -> ("const char *", "name", None); `char[] name` and `char name[16]` -> brackets too.
fn split_declaration(declaration: &str) -> Option<(&str, &str, Option<&str>)> {
    let (declaration, after) = match declaration.split_once('[') {
        Some((before, rest)) => {
            let (inside, after) = rest.split_once(']')?;
            (before.trim_end(), Some((inside, after.trim())))
        }
        None => (declaration, None),
    };
    if let Some((inside, name)) = after
        && !name.is_empty()
        && !name.starts_with('[')
    {
        return Some((declaration, name, Some(inside)));
    }
    let cut = declaration.rfind(|c: char| c.is_whitespace() || c == '*')?;
    let (type_name, name) = declaration.split_at(cut + declaration[cut..].chars().next()?.len_utf8());
    (!name.is_empty()).then_some((type_name.trim_end(), name, after.map(|(inside, _)| inside)))
}

fn element_size(type_name: &str) -> usize {
    match type_name.trim() {
        "char" | "unsigned char" | "signed char" | "u8" | "s8" | "__u8" | "bool" => 1,
        "short" | "unsigned short" | "u16" | "s16" | "__u16" => 2,
        "int" | "unsigned int" | "unsigned" | "u32" | "s32" | "__u32" | "pid_t" => 4,
        "u64" | "s64" | "__u64" | "long long" | "unsigned long long" => 8,
        // A kernel `long` or pointer; 32-bit kernels print arrays of them with a count, which is used instead.
        "long" | "unsigned long" => 8,
        other if other.ends_with('*') => 8,
        _ => 1,
    }
}
