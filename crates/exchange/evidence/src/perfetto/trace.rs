//! The packets of a Perfetto trace.

use super::message::{Fields, Value};
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use std::collections::BTreeMap;

/// Numbers of fields: of a trace, a packet, a bundle of events and others.
mod field {
    pub const PACKET: u32 = 1;
    pub const BUNDLE: u32 = 1;
    pub const INTERNED: u32 = 12;
    pub const SYSTEM_INFO: u32 = 45;
    pub const COMPRESSED: u32 = 50;
    pub const SYMBOLS: u32 = 26;
    pub const UTSNAME: u32 = 1;
}

/// Whether a file begins with a packet: the format has no magic number.
pub fn is_one(bytes: &[u8]) -> bool {
    let Some((field::PACKET, Value::Bytes(packet))) = Fields(bytes).next() else { return false };
    let mut fields = Fields(packet);
    fields.by_ref().count() > 0 && fields.0.is_empty()
}

/// Packets that are packed together, unpacked, at most `bytes_max` of them.
pub fn compressed(trace: &[u8], mut bytes_max: usize) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    for packed in packets(trace).filter_map(|packet| Fields(packet).find(field::COMPRESSED)?.bytes()) {
        // A damaged part, or one beyond the limit, is missing.
        let Ok(part) = decompress_to_vec_zlib_with_limit(packed, bytes_max) else { continue };
        bytes_max -= part.len().min(bytes_max);
        parts.push(part);
    }
    parts
}

fn packets(trace: &[u8]) -> impl Iterator<Item = &[u8]> {
    Fields(trace).filter(|(number, _)| *number == field::PACKET).filter_map(|(_, value)| value.bytes())
}

/// The packets that matter.
#[derive(Debug, Default)]
pub struct Packets<'a> {
    pub bundles: Vec<&'a [u8]>,
    /// Names of functions, by the numbers that events have instead of addresses.
    pub symbols: BTreeMap<u64, &'a [u8]>,
    /// Release, version and architecture of the kernel.
    pub kernel: [String; 3],
}

impl<'a> Packets<'a> {
    pub fn learn(&mut self, trace: &'a [u8]) {
        for (number, value) in packets(trace).flat_map(Fields) {
            let Some(body) = value.bytes() else { continue };
            match number {
                field::BUNDLE => self.bundles.push(body),
                field::INTERNED => self.symbols.extend(Fields(body).filter_map(symbol)),
                field::SYSTEM_INFO => self.learn_kernel(body),
                _ => {}
            }
        }
    }

    fn learn_kernel(&mut self, body: &[u8]) {
        let Some(names) = Fields(body).find(field::UTSNAME).and_then(Value::bytes) else { return };
        let text = |number| {
            let text = Fields(names).find(number).and_then(Value::bytes).unwrap_or_default();
            String::from_utf8_lossy(text).into_owned()
        };
        self.kernel = [text(3), text(2), text(4)];
    }
}

/// A name of a function among the interned data: its number and its text.
fn symbol((number, value): (u32, Value<'_>)) -> Option<(u64, &[u8])> {
    let entry = value.bytes().filter(|_| number == field::SYMBOLS)?;
    Some((Fields(entry).find(1)?.number()?, Fields(entry).find(2)?.bytes()?))
}
