//! Values of expressions, and the context of their evaluation.

use std::borrow::Cow;

use super::digits;
use crate::metadata::Metadata;

#[derive(Clone, Debug)]
pub(super) enum Value<'a> {
    /// All C integers and pointers; kept sign-extended to 64 bits.
    Number {
        bits: u64,
        signed: bool,
    },
    /// An array of characters or other things in the record.
    Bytes(&'a [u8]),
    Text(Cow<'a, str>),
}

impl<'a> Value<'a> {
    pub fn signed(value: i64) -> Value<'a> {
        Value::Number { bits: value as u64, signed: true }
    }

    pub fn unsigned(bits: u64) -> Value<'a> {
        Value::Number { bits, signed: false }
    }

    pub fn bits(&self) -> Option<u64> {
        match self {
            Value::Number { bits, .. } => Some(*bits),
            // The existence of a text is tested in `REC->name ? ... : ...`.
            Value::Bytes(_) | Value::Text(_) => None,
        }
    }

    pub fn is_true(&self) -> bool {
        self.bits().is_none_or(|bits| bits != 0)
    }
}

/// One record and the trace it is in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context<'a> {
    pub payload: &'a [u8],
    pub metadata: &'a Metadata,
}

impl Context<'_> {
    /// Prints the symbol at an address, optionally with the distance to it, or the address.
    pub fn print_address(&self, address: u64, with_distance: bool, out: &mut String) {
        match self.metadata.symbols.find(address) {
            Some((name, distance)) => {
                out.push_str(name);
                if with_distance && distance > 0 {
                    out.push('+');
                    digits::hex(distance, out);
                }
            }
            None => digits::hex(address, out),
        }
    }
}
