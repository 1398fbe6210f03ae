//! Expressions over the fields of a record.

use std::borrow::Cow;

use super::digits;
use super::value::{Context, Value};
use crate::byte_order::sign_extend;
use crate::format::{Field, Storage};

#[derive(Clone, Debug)]
pub(super) enum Expression {
    Number {
        bits: u64,
        signed: bool,
    },
    Text(String),
    Field(Box<Field>),
    Element(Box<Field>, Box<Expression>),
    Unary(Unary, Box<Expression>),
    Binary(Binary, Box<Expression>, Box<Expression>),
    Conditional(Box<[Expression; 3]>),
    Cast {
        size: usize,
        signed: bool,
        inner: Box<Expression>,
    },
    /// `__print_symbolic`
    Symbolic(Box<Expression>, Vec<(u64, String)>),
    /// `__print_flags`
    Flags {
        value: Box<Expression>,
        delimiter: String,
        names: Vec<(u64, String)>,
    },
    /// `__get_dynamic_array_len`
    Length(Box<Field>),
    /// `__get_bitmask`, `__get_cpumask`
    Bitmask(Box<Field>),
    /// `__print_hex`, `__print_hex_str`: bytes and their number
    Hex {
        arguments: Box<[Expression; 2]>,
        separator: &'static str,
    },
    /// `__print_array`: elements, their number and their size
    Array(Box<[Expression; 3]>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Negate,
    Not,
    Complement,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Multiply,
    Divide,
    Remainder,
    Add,
    Subtract,
    ShiftLeft,
    ShiftRight,
    Less,
    Greater,
    LessOrEqual,
    GreaterOrEqual,
    Equal,
    NotEqual,
    And,
    ExclusiveOr,
    Or,
    BothTrue,
    EitherTrue,
}

impl Expression {
    /// `None` if the record is too short or the expression is not defined for its types.
    pub fn value<'a>(&'a self, context: Context<'a>) -> Option<Value<'a>> {
        Some(match self {
            Expression::Number { bits, signed } => Value::Number { bits: *bits, signed: *signed },
            Expression::Text(text) => Value::Text(Cow::Borrowed(text)),
            Expression::Field(field) => field_value(field, context)?,
            Expression::Element(field, index) => {
                let index = usize::try_from(index.value(context)?.bits()?).ok()?;
                let bits = field.element(context.payload, index)?;
                extended(bits, field.element_size, field.signed)
            }
            Expression::Unary(operation, inner) => {
                let value = inner.value(context)?;
                match (operation, value) {
                    (Unary::Not, value) => Value::signed(i64::from(!value.is_true())),
                    (Unary::Negate, Value::Number { bits, signed }) => {
                        Value::Number { bits: bits.wrapping_neg(), signed }
                    }
                    (Unary::Complement, Value::Number { bits, signed }) => Value::Number { bits: !bits, signed },
                    _ => return None,
                }
            }
            Expression::Binary(operation, left, right) => binary(*operation, left, right, context)?,
            Expression::Conditional(parts) => {
                let [condition, yes, no] = &**parts;
                if condition.value(context)?.is_true() { yes.value(context)? } else { no.value(context)? }
            }
            Expression::Cast { size, signed, inner } => match inner.value(context)? {
                Value::Number { bits, .. } => extended(bits, *size, *signed),
                other => other,
            },
            Expression::Symbolic(value, names) => symbolic(value.value(context)?.bits()?, names),
            Expression::Flags { value, delimiter, names } => flags(value.value(context)?.bits()?, delimiter, names),
            Expression::Length(field) => Value::unsigned(field.bytes(context.payload)?.len() as u64),
            Expression::Bitmask(field) => bitmask(field, context)?,
            Expression::Hex { arguments, separator } => {
                let [bytes, count] = &**arguments;
                hex(bytes.value(context)?, count.value(context)?.bits()?, separator)?
            }
            Expression::Array(arguments) => {
                let [elements, count, size] = &**arguments;
                let (count, size) = (count.value(context)?.bits()?, size.value(context)?.bits()?);
                array(elements.value(context)?, count, size, context)?
            }
        })
    }
}

fn extended<'a>(bits: u64, size: usize, signed: bool) -> Value<'a> {
    match (signed, size) {
        (true, _) => Value::signed(sign_extend(bits, size)),
        (false, 1 | 2 | 4) => Value::unsigned(bits & (u64::MAX >> (64 - 8 * size))),
        (false, _) => Value::unsigned(bits),
    }
}

fn field_value<'a>(field: &Field, context: Context<'a>) -> Option<Value<'a>> {
    if field.storage == Storage::Value
        && let Some(bits) = field.uint(context.payload)
    {
        return Some(extended(bits, field.size, field.signed));
    }
    field.bytes(context.payload).map(Value::Bytes)
}

fn binary<'a>(
    operation: Binary,
    left: &'a Expression,
    right: &'a Expression,
    context: Context<'a>,
) -> Option<Value<'a>> {
    let left = left.value(context)?;
    let truth = |truth: bool| Some(Value::signed(i64::from(truth)));
    match operation {
        Binary::BothTrue => return truth(left.is_true() && right.value(context)?.is_true()),
        Binary::EitherTrue => return truth(left.is_true() || right.value(context)?.is_true()),
        _ => {}
    }
    let right = right.value(context)?;
    let (Value::Number { bits: a, signed: a_signed }, Value::Number { bits: b, signed: b_signed }) = (left, right)
    else {
        return None;
    };
    // As in C, one unsigned operand makes both unsigned; for shifts only the left operand counts.
    let signed = a_signed && b_signed;
    let number = |bits: u64| Some(Value::Number { bits, signed });
    let (a_int, b_int) = (a as i64, b as i64);
    match operation {
        Binary::Multiply => number(a.wrapping_mul(b)),
        Binary::Add => number(a.wrapping_add(b)),
        Binary::Subtract => number(a.wrapping_sub(b)),
        Binary::Divide if signed => number(a_int.checked_div(b_int)? as u64),
        Binary::Divide => number(a.checked_div(b)?),
        Binary::Remainder if signed => number(a_int.checked_rem(b_int)? as u64),
        Binary::Remainder => number(a.checked_rem(b)?),
        Binary::ShiftLeft => {
            Some(Value::Number { bits: a.checked_shl(u32::try_from(b).ok()?).unwrap_or(0), signed: a_signed })
        }
        Binary::ShiftRight => {
            let by = u32::try_from(b).ok()?.min(63);
            let bits = if a_signed { (a_int >> by) as u64 } else { a >> by };
            Some(Value::Number { bits, signed: a_signed })
        }
        Binary::And => number(a & b),
        Binary::Or => number(a | b),
        Binary::ExclusiveOr => number(a ^ b),
        Binary::Equal => truth(a == b),
        Binary::NotEqual => truth(a != b),
        Binary::Less => truth(if signed { a_int < b_int } else { a < b }),
        Binary::Greater => truth(if signed { a_int > b_int } else { a > b }),
        Binary::LessOrEqual => truth(if signed { a_int <= b_int } else { a <= b }),
        Binary::GreaterOrEqual => truth(if signed { a_int >= b_int } else { a >= b }),
        Binary::BothTrue | Binary::EitherTrue => None,
    }
}

fn symbolic(bits: u64, names: &[(u64, String)]) -> Value<'_> {
    Value::Text(match names.iter().find(|(value, _)| *value == bits) {
        Some((_, name)) => Cow::Borrowed(name),
        None => {
            let mut text = String::new();
            digits::hex(bits, &mut text);
            Cow::Owned(text)
        }
    })
}

fn flags<'a>(mut bits: u64, delimiter: &str, names: &'a [(u64, String)]) -> Value<'a> {
    let mut matching = names.iter().filter(|(mask, _)| bits & mask == *mask && bits != 0);
    // A single flag, by far the most frequent case, needs no allocation.
    if let (Some((mask, name)), None) = (matching.next(), matching.next())
        && bits == *mask
    {
        return Value::Text(Cow::Borrowed(name));
    }
    let mut text = String::new();
    let separate = |text: &mut String| {
        if !text.is_empty() {
            text.push_str(delimiter);
        }
    };
    for (mask, name) in names {
        if bits == 0 {
            break;
        }
        if bits & mask == *mask {
            separate(&mut text);
            text.push_str(name);
            bits &= !mask;
        }
    }
    if bits != 0 {
        separate(&mut text);
        digits::hex(bits, &mut text);
    }
    Value::Text(Cow::Owned(text))
}

/// As the kernel's `%*pb`: words of 32 bits, the highest first.
fn bitmask<'a>(field: &Field, context: Context<'a>) -> Option<Value<'a>> {
    let bytes = field.bytes(context.payload)?;
    let word_size = context.metadata.layout.commit_size;
    let order = context.metadata.layout.byte_order;
    let mut words = Vec::new();
    for long in bytes.chunks_exact(word_size) {
        let bits = order.uint_at(long, 0, word_size)?;
        words.push(bits as u32);
        if word_size == 8 {
            words.push((bits >> 32) as u32);
        }
    }
    let mut text = String::new();
    for word in words.iter().rev() {
        if !text.is_empty() {
            text.push(',');
        }
        digits::hex_padded(u64::from(*word), 8, &mut text);
    }
    Some(Value::Text(Cow::Owned(text)))
}

fn hex<'a>(value: Value<'a>, count: u64, separator: &str) -> Option<Value<'a>> {
    let Value::Bytes(bytes) = value else { return None };
    let mut text = String::new();
    for (index, &byte) in bytes.get(..usize::try_from(count).ok()?)?.iter().enumerate() {
        if index > 0 {
            text.push_str(separator);
        }
        digits::hex_padded(u64::from(byte), 2, &mut text);
    }
    Some(Value::Text(Cow::Owned(text)))
}

fn array<'a>(value: Value<'a>, count: u64, size: u64, context: Context<'_>) -> Option<Value<'a>> {
    let Value::Bytes(bytes) = value else { return None };
    let (count, size) = (usize::try_from(count).ok()?, usize::try_from(size).ok()?);
    let bytes = bytes.get(..count.checked_mul(size)?)?;
    let mut text = String::from("{");
    for (index, element) in bytes.chunks_exact(size.max(1)).enumerate() {
        if index > 0 {
            text.push(',');
        }
        digits::hex(context.metadata.layout.byte_order.uint_at(element, 0, size)?, &mut text);
    }
    text.push('}');
    Some(Value::Text(Cow::Owned(text)))
}
