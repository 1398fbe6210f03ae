//! The printf format of an event: its literal text and its conversions.

use std::borrow::Cow;

use super::digits;
use super::expression::Expression;
use super::value::{Context, Value};
use crate::byte_order::sign_extend;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Plain(String),
    Conversion(Conversion),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Conversion {
    left: bool,
    zeros: bool,
    alternate: bool,
    plus: bool,
    width: Option<Count>,
    precision: Option<Count>,
    /// Size of the integer, in bytes; 0 is a `long`.
    size: usize,
    kind: char,
    /// Letters after `%p`.
    pointer: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    Given(usize),
    /// `*`: an argument contains it.
    Argument,
}

/// Wider than any event; prevents hostile formats from filling the memory.
const WIDTH_MAX: usize = 1000;

impl Piece {
    /// Number of arguments it consumes.
    pub fn arguments(&self) -> usize {
        match self {
            Piece::Plain(_) => 0,
            Piece::Conversion(conversion) => {
                let stars =
                    [conversion.width, conversion.precision].iter().filter(|n| **n == Some(Count::Argument)).count();
                1 + stars
            }
        }
    }
}

/// `None` if a conversion is unknown.
pub(super) fn parse(text: &str) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        plain.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            plain.push('%');
            rest = after;
            continue;
        }
        let (conversion, after) = conversion(rest)?;
        if !plain.is_empty() {
            pieces.push(Piece::Plain(std::mem::take(&mut plain)));
        }
        pieces.push(Piece::Conversion(conversion));
        rest = after;
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        pieces.push(Piece::Plain(plain));
    }
    Some(pieces)
}

/// Parses the part after the `%`.
fn conversion(text: &str) -> Option<(Conversion, &str)> {
    let mut conversion = Conversion::default();
    let mut rest = text;
    loop {
        match rest.chars().next()? {
            '-' => conversion.left = true,
            '0' => conversion.zeros = true,
            '#' => conversion.alternate = true,
            '+' => conversion.plus = true,
            ' ' => {}
            _ => break,
        }
        rest = &rest[1..];
    }
    (conversion.width, rest) = count(rest)?;
    if let Some(after) = rest.strip_prefix('.') {
        let (precision, after) = count(after)?;
        conversion.precision = Some(precision.unwrap_or(Count::Given(0)));
        rest = after;
    }
    let modifiers = [("hh", 1), ("h", 2), ("ll", 8), ("l", 0), ("L", 8), ("q", 8), ("z", 0), ("t", 0), ("j", 8)];
    conversion.size = 4;
    if let Some((modifier, size)) = modifiers.iter().find(|(modifier, _)| rest.starts_with(modifier)) {
        conversion.size = *size;
        rest = &rest[modifier.len()..];
    }
    conversion.kind = rest.chars().next()?;
    rest = &rest[conversion.kind.len_utf8()..];
    match conversion.kind {
        'd' | 'i' | 'u' | 'x' | 'X' | 'o' | 'c' | 's' => {}
        'p' => {
            let length = pointer_letters(rest);
            conversion.pointer = rest[..length].to_owned();
            rest = &rest[length..];
        }
        _ => return None,
    }
    Some((conversion, rest))
}

/// Number of letters after `%p` that belong to it.
fn pointer_letters(text: &str) -> usize {
    let known = ["ISpc", "ISp", "ISc", "IS", "I6c", "I6", "I4", "UB", "UL", "Ub", "Ul", "Sb", "SR", "bl"];
    if let Some(found) = known.iter().find(|letters| text.starts_with(**letters)) {
        return found.len();
    }
    usize::from(text.starts_with(['s', 'S', 'f', 'F', 'B', 'M', 'm', 'U', 'K', 'x', 'b', 'h', 'a']))
}

fn count(text: &str) -> Option<(Option<Count>, &str)> {
    if let Some(rest) = text.strip_prefix('*') {
        return Some((Some(Count::Argument), rest));
    }
    let length = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    if length == 0 {
        return Some((None, text));
    }
    let count: usize = text[..length].parse().ok()?;
    (count <= WIDTH_MAX).then_some((Some(Count::Given(count)), &text[length..]))
}

/// `None` if an argument has no value for this record.
pub(super) fn print(pieces: &[Piece], arguments: &[Expression], context: Context<'_>, out: &mut String) -> Option<()> {
    let mut arguments = arguments.iter();
    for piece in pieces {
        let conversion = match piece {
            Piece::Plain(text) => {
                out.push_str(text);
                continue;
            }
            Piece::Conversion(conversion) => conversion,
        };
        let mut counted = |count: Option<Count>| {
            Some(match count {
                None => None,
                Some(Count::Given(count)) => Some(count),
                Some(Count::Argument) => {
                    let bits = arguments.next()?.value(context)?.bits()?;
                    Some(usize::try_from(bits).unwrap_or(0).min(WIDTH_MAX))
                }
            })
        };
        let (width, precision) = (counted(conversion.width)?, counted(conversion.precision)?);
        let value = arguments.next()?.value(context)?;
        let start = out.len();
        conversion.print(value, precision, context, out)?;
        if let Some(width) = width {
            conversion.pad(start, width, out);
        }
    }
    Some(())
}

impl Conversion {
    fn print(&self, value: Value<'_>, precision: Option<usize>, context: Context<'_>, out: &mut String) -> Option<()> {
        match self.kind {
            's' => print_text(value, precision, context, out),
            'p' => self.print_pointer(value, context, out)?,
            _ => {
                let Value::Number { bits, .. } = value else { return None };
                self.print_number(bits, precision, context, out);
            }
        }
        Some(())
    }

    fn print_number(&self, bits: u64, precision: Option<usize>, context: Context<'_>, out: &mut String) {
        let size = if self.size == 0 { context.metadata.layout.commit_size } else { self.size };
        let start = out.len();
        if matches!(self.kind, 'd' | 'i') {
            let value = sign_extend(bits, size);
            if self.plus && value >= 0 {
                out.push('+');
            }
            digits::signed(value, out);
        } else {
            let bits = if size >= 8 { bits } else { bits & (u64::MAX >> (64 - 8 * size)) };
            match self.kind {
                'c' => out.push(char::from(bits as u8)),
                'x' | 'X' => {
                    if self.alternate {
                        out.push_str("0x");
                    }
                    digits::radix(bits, 16, self.kind == 'X', out);
                }
                'o' => digits::radix(bits, 8, false, out),
                _ => digits::decimal(bits, out),
            }
        }
        if let Some(precision) = precision {
            fill(start, precision, '0', out);
        }
    }

    fn print_pointer(&self, value: Value<'_>, context: Context<'_>, out: &mut String) -> Option<()> {
        match value {
            Value::Number { bits, .. } => match self.pointer.as_str() {
                "s" | "f" => context.print_address(bits, false, out),
                "S" | "F" | "B" | "SR" | "Sb" => context.print_address(bits, true, out),
                _ => digits::hex(bits, out),
            },
            Value::Bytes(bytes) => print_address_bytes(&self.pointer, bytes, out),
            Value::Text(_) => return None,
        }
        Some(())
    }

    fn pad(&self, start: usize, width: usize, out: &mut String) {
        let length = out[start..].chars().count();
        if self.left {
            out.extend(std::iter::repeat_n(' ', width.saturating_sub(length)));
        } else if self.zeros && !matches!(self.kind, 's' | 'c' | 'p') {
            fill(start, width, '0', out);
        } else {
            fill(start, width, ' ', out);
        }
    }
}

/// Pads the text from `start` on; zeros go after a sign and `0x`.
fn fill(start: usize, width: usize, with: char, out: &mut String) {
    let length = out[start..].chars().count();
    let mut at = start;
    if with == '0' {
        at += usize::from(out[at..].starts_with(['-', '+']));
        at += if out[at..].starts_with("0x") { 2 } else { 0 };
    }
    for _ in length..width {
        out.insert(at, with);
    }
}

fn print_text(value: Value<'_>, precision: Option<usize>, context: Context<'_>, out: &mut String) {
    let text = match value {
        Value::Text(text) => text,
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes.split(|&byte| byte == 0).next().unwrap_or(bytes)),
        // A constant string of the kernel.
        Value::Number { bits, .. } => match context.metadata.printk_formats.text(bits) {
            Some(text) => Cow::Borrowed(text),
            None => return digits::hex(bits, out),
        },
    };
    match precision.and_then(|precision| text.char_indices().nth(precision)) {
        Some((end, _)) => out.push_str(&text[..end]),
        None => out.push_str(&text),
    }
}

/// Network addresses, and other bytes that a pointer refers to.
fn print_address_bytes(letters: &str, bytes: &[u8], out: &mut String) {
    match (letters, bytes) {
        ("I4", [a, b, c, d, ..]) => {
            for (index, byte) in [a, b, c, d].into_iter().enumerate() {
                if index > 0 {
                    out.push('.');
                }
                digits::decimal(u64::from(*byte), out);
            }
        }
        _ => {
            let (count, separator) = match letters {
                "M" => (6, ":"),
                "I6" | "I6c" | "U" | "UB" | "UL" | "Ub" | "Ul" => (16, ""),
                _ => (bytes.len(), ""),
            };
            for (index, byte) in bytes.iter().take(count).enumerate() {
                if index > 0 {
                    out.push_str(separator);
                }
                digits::hex_padded(u64::from(*byte), 2, out);
            }
        }
    }
}
