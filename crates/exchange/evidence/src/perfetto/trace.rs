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

/// The trace itself, then each part of it whose packets are packed together, unpacked; at most `bytes_max` bytes of these.
pub fn parts(trace: &[u8], mut bytes_max: usize, mut visit: impl FnMut(&[u8])) {
    visit(trace);
    for packed in packets(trace).filter_map(|packet| Fields(packet).find(field::COMPRESSED)?.bytes()) {
        // A damaged part, or one beyond the limit, is missing.
        let Ok(part) = decompress_to_vec_zlib_with_limit(packed, bytes_max) else { continue };
        bytes_max -= part.len().min(bytes_max);
        visit(&part);
    }
}

/// The bundles of events, each of one CPU.
pub fn bundles(trace: &[u8]) -> impl Iterator<Item = &[u8]> {
    let of_packet = |packet| Fields(packet).filter(|(number, _)| *number == field::BUNDLE);
    packets(trace).flat_map(of_packet).filter_map(|(_, value)| value.bytes())
}

fn packets(trace: &[u8]) -> impl Iterator<Item = &[u8]> {
    Fields(trace).filter(|(number, _)| *number == field::PACKET).filter_map(|(_, value)| value.bytes())
}

/// Facts in the packets beside the events.
#[derive(Debug, Default)]
pub struct Surroundings {
    /// Names of functions, by the numbers that events have instead of addresses.
    pub symbols: BTreeMap<u64, Vec<u8>>,
    /// Release, version and architecture of the kernel.
    pub kernel: [String; 3],
}

impl Surroundings {
    pub fn learn(&mut self, trace: &[u8]) {
        for (number, value) in packets(trace).flat_map(Fields) {
            let Some(body) = value.bytes() else { continue };
            match number {
                field::INTERNED => {
                    let symbols = Fields(body).filter_map(symbol);
                    self.symbols.extend(symbols.map(|(number, name)| (number, name.to_vec())));
                }
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
