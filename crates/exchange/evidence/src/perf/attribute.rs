//! The description of an event in a perf.data file: `struct perf_event_attr` of the kernel.

use ftrace::byte_order::ByteOrder;

/// `PERF_TYPE_TRACEPOINT`.
const TRACEPOINT: u32 = 2;
const SAMPLE_TYPE_AT: usize = 24;
const READ_FORMAT_AT: usize = 32;
const FLAGS_AT: usize = 40;
const CLOCK_AT: usize = 92;
/// Places in the bit field of flags.
const SAMPLE_ID_ALL: u32 = 18;
const USE_CLOCKID: u32 = 25;

/// As far as samples and times depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute {
    pub is_tracepoint: bool,
    pub sample_type: u64,
    pub read_format: u64,
    /// Records of other kinds end with the fields that identify a sample.
    pub sample_id_all: bool,
    /// The clock, if the user chose one.
    pub clock: Option<i32>,
}

impl Attribute {
    /// `None` if the bytes end before the flags.
    pub fn parse(bytes: &[u8], order: ByteOrder) -> Option<Self> {
        let flags = order.u64_at(bytes, FLAGS_AT)?;
        // The first flag of a bit field is in the highest bit on a machine with the other byte order.
        let flag = |place: u32| match order {
            ByteOrder::Little => flags >> place & 1 == 1,
            ByteOrder::Big => flags >> (63 - place) & 1 == 1,
        };
        let clock = order.u32_at(bytes, CLOCK_AT).map(|clock| clock as i32);
        Some(Self {
            is_tracepoint: order.u32_at(bytes, 0)? == TRACEPOINT,
            sample_type: order.u64_at(bytes, SAMPLE_TYPE_AT)?,
            read_format: order.u64_at(bytes, READ_FORMAT_AT)?,
            sample_id_all: flag(SAMPLE_ID_ALL),
            clock: clock.filter(|_| flag(USE_CLOCKID)),
        })
    }

    /// The name of its clock as trace clocks are named.
    pub fn clock_name(&self) -> &'static str {
        match self.clock {
            Some(0) => "realtime",
            Some(1) => "mono",
            Some(4) => "mono_raw",
            Some(7) => "boot",
            Some(11) => "tai",
            // The kernel's scheduler clock.
            _ => "perf",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_the_other_byte_order_are_found() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let flags: u64 = 1 << SAMPLE_ID_ALL | 1 << USE_CLOCKID;
            let flags = if order == ByteOrder::Big { flags.reverse_bits() } else { flags };
            let mut bytes = order.u32_bytes(TRACEPOINT).to_vec();
            bytes.resize(FLAGS_AT, 0);
            bytes.extend(order.u64_bytes(flags));
            bytes.resize(CLOCK_AT, 0);
            bytes.extend(order.u32_bytes(1));
            let attribute = Attribute::parse(&bytes, order).unwrap();
            assert!(attribute.is_tracepoint && attribute.sample_id_all);
            assert_eq!(attribute.clock_name(), "mono");
            // Descriptions of old versions are shorter.
            assert_eq!(Attribute::parse(&bytes[..64], order).unwrap().clock_name(), "perf");
            assert_eq!(Attribute::parse(&bytes[..44], order), None);
        }
    }
}
