//! Maps fields of a measuring tracer's records to series of values.

use archive::tracer::KernelSource;
use ftrace::format::{EventFormat, EventFormats};

/// One kind of value of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Channel {
    pub name: &'static str,
    pub system: &'static str,
    pub event: &'static str,
    field: &'static str,
    ns_per_unit: i64,
    /// Only records whose field has this value.
    when: Option<(&'static str, i64)>,
    /// Whether a zero means that nothing was measured.
    zero_is_none: bool,
}

const fn every(name: &'static str, system: &'static str, event: &'static str, field: &'static str) -> Channel {
    Channel { name, system, event, field, ns_per_unit: 1, when: None, zero_is_none: false }
}

const fn timerlat(name: &'static str, context: i64) -> Channel {
    Channel { when: Some(("context", context)), ..every(name, "ftrace", "timerlat", "timer_latency") }
}

/// The records of osnoise and hwlat are in microseconds, their events in nanoseconds.
const fn osnoise(name: &'static str, field: &'static str) -> Channel {
    Channel { ns_per_unit: 1000, ..every(name, "ftrace", "osnoise", field) }
}

const fn hwlat(name: &'static str, field: &'static str) -> Channel {
    Channel { ns_per_unit: 1000, zero_is_none: true, ..every(name, "ftrace", "hwlat", field) }
}

const TIMERLAT: &[Channel] = &[timerlat("timerlat irq", 0), timerlat("timerlat thread", 1)];

const OSNOISE: &[Channel] = &[
    osnoise("osnoise noise", "noise"),
    osnoise("osnoise longest", "max_sample"),
    every("osnoise irq", "osnoise", "irq_noise", "duration"),
    every("osnoise softirq", "osnoise", "softirq_noise", "duration"),
    every("osnoise thread", "osnoise", "thread_noise", "duration"),
    every("osnoise nmi", "osnoise", "nmi_noise", "duration"),
];

const HWLAT: &[Channel] = &[hwlat("hwlat inner", "duration"), hwlat("hwlat outer", "outer_duration")];

/// All values of a source.
pub const fn of_source(source: KernelSource) -> &'static [Channel] {
    match source {
        KernelSource::Timerlat => TIMERLAT,
        KernelSource::Osnoise => OSNOISE,
        KernelSource::Hwlat => HWLAT,
    }
}

impl Channel {
    /// Its format, if the kernel has such a record.
    pub fn format<'a>(&self, formats: &'a EventFormats) -> Option<&'a EventFormat> {
        formats.find(self.system, self.event).filter(|format| format.field(self.field).is_some())
    }

    /// The value in a record of that format, in ns.
    pub fn value_ns(&self, format: &EventFormat, payload: &[u8]) -> Option<i64> {
        if let Some((field, wanted)) = self.when
            && format.field(field)?.int(payload)? != wanted
        {
            return None;
        }
        let value = i64::try_from(format.field(self.field)?.uint(payload)?).ok()?;
        (value > 0 || !self.zero_is_none).then(|| value.saturating_mul(self.ns_per_unit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftrace::byte_order::ByteOrder;

    const FORMAT: &str = "name: timerlat\nID: 21\nformat:\n\
        \tfield:unsigned int seqnum;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:int context;\toffset:12;\tsize:4;\tsigned:1;\n\
        \tfield:u64 timer_latency;\toffset:16;\tsize:8;\tsigned:0;\n";

    #[test]
    fn a_record_belongs_to_the_series_of_its_context() {
        let mut formats = EventFormats::default();
        formats.extend(EventFormat::parse("ftrace", FORMAT, ByteOrder::Little));
        let mut payload = vec![0; 24];
        payload[12] = 1;
        payload[16..24].copy_from_slice(&4321u64.to_le_bytes());
        let [irq, thread] = TIMERLAT else { panic!("two series") };
        let format = irq.format(&formats).unwrap();
        assert_eq!((irq.value_ns(format, &payload), thread.value_ns(format, &payload)), (None, Some(4321)));
        assert_eq!(thread.value_ns(format, &payload[..20]), None, "a record that was cut has no value");
        assert!(HWLAT[0].format(&formats).is_none());
    }
}
