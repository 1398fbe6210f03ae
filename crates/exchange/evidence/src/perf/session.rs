//! The records of a perf.data file, with the descriptions that come before or among them.

use super::attribute::Attribute;
use ftrace::byte_order::ByteOrder;
use std::collections::BTreeMap;

const MAGIC_LITTLE: &[u8] = b"PERFILE2";
const MAGIC_BIG: &[u8] = b"2ELIFREP";
/// A file written to a pipe has a head of only this size.
const PIPE_HEAD_BYTES: u64 = 16;
const RECORD_HEAD_BYTES: usize = 8;
/// Bytes of a section: offset and size.
const SECTION_BYTES: usize = 16;
/// Where the head of a file has them.
const ATTRIBUTES_AT: usize = 24;
const DATA_AT: usize = 40;
const FEATURES_AT: usize = 72;
const FEATURES: usize = 256;

/// Numbers of features.
mod feature {
    pub const TRACING_DATA: usize = 1;
    pub const HOSTNAME: usize = 3;
    pub const RELEASE: usize = 4;
    pub const VERSION: usize = 5;
    pub const ARCHITECTURE: usize = 6;
}
/// Kinds of records.
mod kind {
    pub const LOST: u32 = 2;
    pub const COMM: u32 = 3;
    pub const SAMPLE: u32 = 9;
    pub const LOST_SAMPLES: u32 = 13;
    pub const ATTRIBUTE: u32 = 64;
    pub const TRACING_DATA: u32 = 66;
    pub const AUXILIARY: u32 = 71;
    pub const FEATURE: u32 = 80;
    pub const COMPRESSED: u32 = 81;
    pub const COMPRESSED_2: u32 = 83;
}

/// A record of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record<'a> {
    Sample(&'a [u8]),
    /// The number of records that the buffer had no room for.
    Lost {
        count: u64,
        body: &'a [u8],
    },
}

/// Everything that a file says.
#[derive(Debug, Default)]
pub struct Session<'a> {
    pub order: Option<ByteOrder>,
    pub attributes: Vec<Attribute>,
    /// By the number of an event.
    pub by_id: BTreeMap<u64, usize>,
    pub tracing_data: &'a [u8],
    pub hostname: String,
    pub release: String,
    pub architecture: String,
    /// Of perf.
    pub version: String,
    /// Names of threads.
    pub names: BTreeMap<u32, &'a [u8]>,
    pub records: Vec<Record<'a>>,
    /// Parts of `perf record -z`, in one piece.
    pub packed: Vec<u8>,
}

/// Whether the bytes are of a perf.data file.
pub fn is_one(bytes: &[u8]) -> bool {
    order(bytes).is_some()
}

fn order(bytes: &[u8]) -> Option<ByteOrder> {
    let little = bytes.starts_with(MAGIC_LITTLE).then_some(ByteOrder::Little);
    little.or_else(|| bytes.starts_with(MAGIC_BIG).then_some(ByteOrder::Big))
}

impl<'a> Session<'a> {
    /// The readable part of a file.
    pub fn of(bytes: &'a [u8]) -> Self {
        let mut session = Self { order: order(bytes), ..Self::default() };
        let order = session.byte_order();
        match order.u64_at(bytes, MAGIC_LITTLE.len()) {
            Some(PIPE_HEAD_BYTES) => session.walk(bytes.get(PIPE_HEAD_BYTES as usize..).unwrap_or_default()),
            // Whatever ends early is missing.
            _ => drop(session.read_file(bytes)),
        }
        session
    }

    pub fn byte_order(&self) -> ByteOrder {
        self.order.unwrap_or(ByteOrder::Little)
    }

    fn read_file(&mut self, bytes: &'a [u8]) -> Option<()> {
        let order = self.byte_order();
        let size = usize::try_from(order.u64_at(bytes, 16)?).ok()?.max(SECTION_BYTES);
        let attributes = section(bytes, ATTRIBUTES_AT, order)?;
        // Sections that overlap would be read once for each attribute.
        let mut ids_max = bytes.len();
        for attribute in attributes.chunks_exact(size) {
            let (attribute, ids) = attribute.split_at(size - SECTION_BYTES);
            let ids = section_of(bytes, ids, 0, order).filter(|ids| ids.len() <= ids_max).unwrap_or_default();
            ids_max -= ids.len();
            self.learn_attribute(attribute, ids);
        }
        let data_end = order.u64_at(bytes, DATA_AT)?.checked_add(order.u64_at(bytes, DATA_AT + 8)?)?;
        let mut at = usize::try_from(data_end).ok()?;
        for number in 0..FEATURES {
            let word = order.u64_at(bytes, FEATURES_AT + number / 64 * 8)?;
            if word >> (number % 64) & 1 == 1 {
                self.learn_feature(number, section(bytes, at, order).unwrap_or_default());
                at = at.checked_add(SECTION_BYTES)?;
            }
        }
        self.walk(section(bytes, DATA_AT, order)?);
        Some(())
    }

    fn learn_attribute(&mut self, attribute: &[u8], ids: &[u8]) {
        let order = self.byte_order();
        let Some(attribute) = Attribute::parse(attribute, order) else { return };
        let number = self.attributes.len();
        self.by_id.extend(ids.chunks_exact(8).filter_map(|id| Some((order.u64_at(id, 0)?, number))));
        self.attributes.push(attribute);
    }

    fn learn_feature(&mut self, number: usize, data: &'a [u8]) {
        // A text has its length before it, and zeros behind it.
        let text = || {
            let text = data.get(4..).unwrap_or_default().split(|byte| *byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(text).into_owned()
        };
        match number {
            feature::TRACING_DATA => self.tracing_data = data,
            feature::HOSTNAME => self.hostname = text(),
            feature::RELEASE => self.release = text(),
            feature::VERSION => self.version = text(),
            feature::ARCHITECTURE => self.architecture = text(),
            _ => {}
        }
    }

    /// Reads records one after another.
    pub fn walk(&mut self, mut bytes: &'a [u8]) {
        let order = self.byte_order();
        while let (Some(kind), Some(size)) = (order.u32_at(bytes, 0), order.u16_at(bytes, 6)) {
            let Some(body) = bytes.get(RECORD_HEAD_BYTES..usize::from(size)) else { return };
            bytes = &bytes[usize::from(size)..];
            let behind = self.bytes_behind(kind, body);
            let (data, rest) = bytes.split_at(behind.min(bytes.len()));
            if kind == kind::TRACING_DATA {
                self.tracing_data = data;
            }
            bytes = rest;
            self.learn(kind, body);
        }
    }

    /// Data that do not fit the size of a record follow it.
    fn bytes_behind(&self, kind: u32, body: &[u8]) -> usize {
        let order = self.byte_order();
        let bytes = match kind {
            kind::TRACING_DATA => order.u32_at(body, 0).map(u64::from),
            kind::AUXILIARY => order.u64_at(body, 0),
            _ => None,
        };
        bytes.map_or(0, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    fn learn(&mut self, kind: u32, body: &'a [u8]) {
        let order = self.byte_order();
        let word = |at: usize| order.u64_at(body, at).unwrap_or_default();
        match kind {
            kind::SAMPLE => self.records.push(Record::Sample(body)),
            kind::LOST => self.records.push(Record::Lost { count: word(8), body }),
            kind::LOST_SAMPLES => self.records.push(Record::Lost { count: word(0), body }),
            kind::COMM => {
                let name = body.get(8..).unwrap_or_default().split(|byte| *byte == 0).next();
                self.names.extend(order.u32_at(body, 4).zip(name));
            }
            kind::ATTRIBUTE => {
                // Its own size stands in it; numbers of the event follow.
                let size = order.u32_at(body, 4).and_then(|size| usize::try_from(size).ok()).unwrap_or_default();
                self.learn_attribute(body, body.get(size..).unwrap_or_default());
            }
            kind::FEATURE => {
                let number = usize::try_from(word(0)).unwrap_or(FEATURES);
                self.learn_feature(number, body.get(8..).unwrap_or_default());
            }
            kind::COMPRESSED => self.packed.extend(body),
            kind::COMPRESSED_2 => {
                let size = usize::try_from(word(0)).unwrap_or(usize::MAX);
                let data = body.get(8..).unwrap_or_default();
                self.packed.extend(&data[..size.min(data.len())]);
            }
            _ => {}
        }
    }
}

/// The section whose offset and size are at a place of a file.
fn section(bytes: &[u8], at: usize, order: ByteOrder) -> Option<&[u8]> {
    section_of(bytes, bytes, at, order)
}

/// The section of a file whose offset and size are at a place of one of its parts.
fn section_of<'a>(bytes: &'a [u8], part: &[u8], at: usize, order: ByteOrder) -> Option<&'a [u8]> {
    let offset = usize::try_from(order.u64_at(part, at)?).ok()?;
    let size = usize::try_from(order.u64_at(part, at.checked_add(8)?)?).ok()?;
    bytes.get(offset..)?.get(..size)
}
