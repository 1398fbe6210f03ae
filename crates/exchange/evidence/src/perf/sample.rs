//! The fields of a sample, of which the sample type of its event says which are there.

use super::attribute::Attribute;
use ftrace::byte_order::ByteOrder;

/// Bits of a sample type.
mod has {
    pub const IP: u64 = 1;
    pub const TID: u64 = 1 << 1;
    pub const TIME: u64 = 1 << 2;
    pub const ADDRESS: u64 = 1 << 3;
    pub const READ: u64 = 1 << 4;
    pub const CALLCHAIN: u64 = 1 << 5;
    pub const ID: u64 = 1 << 6;
    pub const CPU: u64 = 1 << 7;
    pub const PERIOD: u64 = 1 << 8;
    pub const STREAM: u64 = 1 << 9;
    pub const RAW: u64 = 1 << 10;
    pub const IDENTIFIER: u64 = 1 << 16;
}
/// Bits of a read format.
const READ_TIMES: u64 = 3;
const READ_ID: u64 = 1 << 2;
const READ_GROUP: u64 = 1 << 3;
const READ_LOST: u64 = 1 << 4;

/// The record of a tracepoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample<'a> {
    pub ts_ns: u64,
    pub cpu: u32,
    pub raw: &'a [u8],
}

/// Whether the first field of samples is the number of their event.
pub fn is_identified(attribute: &Attribute) -> bool {
    attribute.sample_type & has::IDENTIFIER != 0
}

/// `None` without a time, a CPU or raw data, and for fields beyond the end.
pub fn sample<'a>(body: &'a [u8], attribute: &Attribute, order: ByteOrder) -> Option<Sample<'a>> {
    let mut fields = Fields { body, at: 0, order, of: attribute.sample_type };
    fields.skip(has::IDENTIFIER)?;
    fields.skip(has::IP)?;
    fields.skip(has::TID)?;
    let ts_ns = fields.next(has::TIME)?;
    fields.skip(has::ADDRESS)?;
    fields.skip(has::ID)?;
    fields.skip(has::STREAM)?;
    let cpu = fields.cpu()?;
    fields.skip(has::PERIOD)?;
    if fields.of & has::READ != 0 {
        fields.skip_read(attribute.read_format)?;
    }
    if fields.of & has::CALLCHAIN != 0 {
        let addresses = fields.u64()?;
        fields.skip_words(addresses)?;
    }
    Some(Sample { ts_ns: ts_ns?, cpu: cpu?, raw: fields.raw()? })
}

/// Time and CPU at the end of a record of another kind.
pub fn stamp(body: &[u8], attribute: &Attribute, order: ByteOrder) -> Option<(u64, u32)> {
    let of = attribute.sample_type;
    let trailing = [has::TID, has::TIME, has::ID, has::STREAM, has::CPU, has::IDENTIFIER];
    let bytes = 8 * trailing.iter().filter(|bit| of & **bit != 0).count();
    let at = body.len().checked_sub(bytes).filter(|_| attribute.sample_id_all)?;
    let mut fields = Fields { body, at, order, of };
    fields.skip(has::TID)?;
    let ts_ns = fields.next(has::TIME)?;
    fields.skip(has::ID)?;
    fields.skip(has::STREAM)?;
    Some((ts_ns?, fields.cpu()??))
}

struct Fields<'a> {
    body: &'a [u8],
    at: usize,
    order: ByteOrder,
    of: u64,
}

impl<'a> Fields<'a> {
    fn u64(&mut self) -> Option<u64> {
        let value = self.order.u64_at(self.body, self.at)?;
        self.at += 8;
        Some(value)
    }

    /// The field of a bit, if samples have it; `None` if the bytes end before it.
    fn next(&mut self, bit: u64) -> Option<Option<u64>> {
        if self.of & bit == 0 { Some(None) } else { self.u64().map(Some) }
    }

    fn skip(&mut self, bit: u64) -> Option<()> {
        self.next(bit).map(drop)
    }

    fn skip_words(&mut self, words: u64) -> Option<()> {
        let bytes = usize::try_from(words).ok()?.checked_mul(8)?;
        self.at = self.at.checked_add(bytes).filter(|at| *at <= self.body.len())?;
        Some(())
    }

    /// The number of a CPU has half of its field.
    fn cpu(&mut self) -> Option<Option<u32>> {
        let cpu = self.order.u32_at(self.body, self.at);
        Some(self.next(has::CPU)?.and(cpu))
    }

    fn skip_read(&mut self, format: u64) -> Option<()> {
        let times = u64::from((format & READ_TIMES).count_ones());
        let beside = u64::from((format & (READ_ID | READ_LOST)).count_ones());
        if format & READ_GROUP == 0 {
            return self.skip_words(1 + times + beside);
        }
        let events = self.u64()?;
        self.skip_words(events.checked_mul(1 + beside)?.checked_add(times)?)
    }

    fn raw(&mut self) -> Option<&'a [u8]> {
        let bytes = self.order.u32_at(self.body, self.at).filter(|_| self.of & has::RAW != 0)?;
        self.body.get(self.at + 4..)?.get(..usize::try_from(bytes).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(sample_type: u64, read_format: u64) -> Attribute {
        Attribute { is_tracepoint: true, sample_type, read_format, sample_id_all: true, clock: None }
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn raw_data_are_found_behind_every_other_field() {
        let raw = [&4u32.to_le_bytes()[..], b"data"].concat();
        let all = has::IDENTIFIER | has::IP | has::TID | has::TIME | has::CPU | has::PERIOD | has::RAW;
        let expected = Some(Sample { ts_ns: 50, cpu: 3, raw: b"data" });
        let plain = [words(&[9, 0, 7, 50, 3, 1]), raw.clone()].concat();
        assert_eq!(sample(&plain, &attribute(all, 0), ByteOrder::Little), expected);
        let with_more = all | has::ADDRESS | has::ID | has::STREAM | has::READ | has::CALLCHAIN;
        let of_group = words(&[
            9, 0, 7, 50, 1, 9, 9, 3, 1, /* two events, a time */ 2, 0, 8, 1, 8, 2, /* addresses */ 2, 5, 6,
        ]);
        let body = [of_group, raw].concat();
        assert_eq!(sample(&body, &attribute(with_more, READ_GROUP | READ_ID | 1), ByteOrder::Little), expected);
        for cut in 0..body.len() {
            assert_eq!(sample(&body[..cut], &attribute(with_more, READ_GROUP | READ_ID | 1), ByteOrder::Little), None);
        }
        assert_eq!(sample(&plain, &attribute(all & !has::RAW, 0), ByteOrder::Little), None);
    }

    #[test]
    fn other_records_end_with_time_and_cpu() {
        let of = attribute(has::IDENTIFIER | has::TID | has::TIME | has::CPU, 0);
        let body = words(&[/* lost */ 1, 12, 7, 50, 2, 9]);
        assert_eq!(stamp(&body, &of, ByteOrder::Little), Some((50, 2)));
        assert_eq!(stamp(&body[..16], &of, ByteOrder::Little), None);
        assert_eq!(stamp(&body, &Attribute { sample_id_all: false, ..of }, ByteOrder::Little), None);
    }
}
