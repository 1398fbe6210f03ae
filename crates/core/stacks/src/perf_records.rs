//! The records of the kernel's `perf_event_open`, as the meter copies them from a ring that is written backwards.
//!
//! A sample has `PERF_SAMPLE_TID`, `TIME`, `CALLCHAIN`, `REGS_USER` and `STACK_USER`; a switch of the thread has thread and time. All
//! integers are little-endian (perf_event_open(2)).

use archive::stacks::{SwitchKind, ThreadSwitch};

const RECORD_SAMPLE: u32 = 9;
const RECORD_SWITCH: u32 = 14;
const MISC_SWITCH_OUT: u16 = 1 << 13;
const MISC_SWITCH_OUT_PREEMPT: u16 = 1 << 14;
/// The addresses of a call chain above this one say whose the following ones are.
const CONTEXT_MIN: u64 = -4095_i64 as u64;
const CONTEXT_KERNEL: u64 = -128_i64 as u64;
const CONTEXT_USER: u64 = -512_i64 as u64;
/// A 64-bit program had these registers.
const ABI_64: u64 = 2;

/// A sample as the kernel took it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PerfSample<'a> {
    pub ts_ns: i64,
    /// The thread was in the kernel.
    pub in_kernel: bool,
    /// Addresses in the kernel, innermost first; none if the kernel hides them.
    pub kernel: Vec<u64>,
    /// Addresses of the program by frame pointers, innermost first.
    pub chain: Vec<u64>,
    /// In the order of their numbers; none of a 32-bit program.
    pub registers: Vec<u64>,
    /// From the stack pointer on.
    pub stack: &'a [u8],
}

/// All records that can be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PerfRecords<'a> {
    /// In order of time.
    pub samples: Vec<PerfSample<'a>>,
    /// In order of time.
    pub switches: Vec<ThreadSwitch>,
}

/// Reads records with this many registers in each sample. The last record may be overwritten in part and is then left out.
pub fn read(bytes: &[u8], registers: usize) -> PerfRecords<'_> {
    let mut records = PerfRecords::default();
    let mut rest = Fields(bytes);
    while let Some(record) = rest.record() {
        match record.kind {
            RECORD_SAMPLE => records.samples.extend(sample(record.fields, registers)),
            RECORD_SWITCH => records.switches.extend(switch(record.misc, record.fields)),
            _ => {}
        }
    }
    records.samples.sort_by_key(|sample| sample.ts_ns);
    records.switches.sort_by_key(|switch| switch.ts_ns);
    records
}

struct Record<'a> {
    kind: u32,
    misc: u16,
    fields: Fields<'a>,
}

/// Bytes that have not been read yet.
#[derive(Clone, Copy)]
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn word(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn words(&mut self, count: usize) -> Option<Vec<u64>> {
        let bytes = self.bytes(count.checked_mul(8)?)?;
        Some(bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default())).collect())
    }

    /// A header and what belongs to it.
    fn record(&mut self) -> Option<Record<'a>> {
        let kind = self.array().map(u32::from_le_bytes)?;
        let misc = self.array().map(u16::from_le_bytes)?;
        let bytes = self.array().map(u16::from_le_bytes)?;
        let fields = self.bytes(usize::from(bytes).checked_sub(8)?)?;
        Some(Record { kind, misc, fields: Fields(fields) })
    }

    /// The instant behind the numbers of process and thread.
    fn instant(&mut self) -> Option<i64> {
        self.word()?;
        self.word().and_then(|ns| i64::try_from(ns).ok())
    }
}

fn sample(mut fields: Fields<'_>, registers: usize) -> Option<PerfSample<'_>> {
    let ts_ns = fields.instant()?;
    let count = usize::try_from(fields.word()?).ok()?;
    let all = fields.words(count)?;
    let (mut chain, mut kernel, mut in_kernel, mut context) = (Vec::new(), Vec::new(), false, 0);
    for address in all {
        match address {
            CONTEXT_MIN.. => (context, in_kernel) = (address, in_kernel || address == CONTEXT_KERNEL),
            _ if context == CONTEXT_USER => chain.push(address),
            _ if context == CONTEXT_KERNEL => kernel.push(address),
            _ => {}
        }
    }
    if registers == 0 {
        // The meter knows no registers of this processor, and asks for neither them nor a copy of the stack.
        return Some(PerfSample { ts_ns, in_kernel, kernel, chain, registers: Vec::new(), stack: &[] });
    }
    let abi = fields.word()?;
    let saved = if abi == 0 { Vec::new() } else { fields.words(registers)? };
    let bytes = usize::try_from(fields.word()?).ok()?;
    let copy = fields.bytes(bytes)?;
    // How much of the copy the kernel could read follows it.
    let copied = if bytes == 0 { 0 } else { usize::try_from(fields.word()?).ok()? };
    let stack = copy.get(..copied)?;
    let registers = if abi == ABI_64 { saved } else { Vec::new() };
    Some(PerfSample { ts_ns, in_kernel, kernel, chain, registers, stack })
}

fn switch(misc: u16, mut fields: Fields<'_>) -> Option<ThreadSwitch> {
    let kind = match misc {
        misc if misc & MISC_SWITCH_OUT == 0 => SwitchKind::In,
        misc if misc & MISC_SWITCH_OUT_PREEMPT != 0 => SwitchKind::Preempted,
        _ => SwitchKind::Slept,
    };
    Some(ThreadSwitch { ts_ns: fields.instant()?, kind })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(kind: u32, misc: u16, words: &[u64]) -> Vec<u8> {
        let bytes = (8 + words.len() * 8) as u16;
        let head = [&kind.to_le_bytes()[..], &misc.to_le_bytes(), &bytes.to_le_bytes()].concat();
        head.into_iter().chain(words.iter().flat_map(|word| word.to_le_bytes())).collect()
    }

    fn of_sample(ts_ns: u64) -> Vec<u8> {
        let chain = [5, CONTEXT_KERNEL, 0xffff_ffff_8100_0000, CONTEXT_USER, 0x40_1000, 0x40_2000];
        let words = [&[7, ts_ns][..], &chain, &[ABI_64, 1, 2, 3], &[16, 0xaa, 0xbb, 8]].concat();
        record(RECORD_SAMPLE, 0, &words)
    }

    #[test]
    fn samples_and_switches_are_read_in_order_of_time_and_a_cut_one_is_left_out() {
        let slept = record(RECORD_SWITCH, MISC_SWITCH_OUT, &[7, 30]);
        let preempted = record(RECORD_SWITCH, MISC_SWITCH_OUT | MISC_SWITCH_OUT_PREEMPT, &[7, 25]);
        let bytes = [slept, of_sample(20), preempted, record(RECORD_SWITCH, 0, &[7, 15]), of_sample(10)].concat();
        let records = read(&bytes, 3);
        let sample = &records.samples[1];
        assert_eq!((sample.ts_ns, sample.in_kernel, &sample.chain[..]), (20, true, &[0x40_1000, 0x40_2000][..]));
        assert_eq!(sample.kernel, [0xffff_ffff_8100_0000]);
        assert_eq!((&sample.registers[..], sample.stack), (&[1, 2, 3][..], &0xaa_u64.to_le_bytes()[..]));
        let kinds: Vec<_> = records.switches.iter().map(|switch| (switch.ts_ns, switch.kind)).collect();
        assert_eq!(kinds, [(15, SwitchKind::In), (25, SwitchKind::Preempted), (30, SwitchKind::Slept)]);
        assert_eq!(read(&bytes[..bytes.len() - 1], 3).samples.len(), 1);
    }

    #[test]
    fn a_sample_of_an_unknown_processor_has_its_call_chain() {
        let words = [7, 20, 3, CONTEXT_USER, 0x40_1000, 0x40_2000];
        let chain = vec![0x40_1000, 0x40_2000];
        assert_eq!(
            read(&record(RECORD_SAMPLE, 0, &words), 0).samples,
            [PerfSample { ts_ns: 20, chain, ..Default::default() }]
        );
    }

    #[test]
    fn a_sample_of_a_thread_without_user_space_has_no_stack() {
        let words = [7, 20, 2, CONTEXT_KERNEL, 0xffff_ffff_8100_0000, 0, 0];
        let bytes = record(RECORD_SAMPLE, 0, &words);
        let kernel = vec![0xffff_ffff_8100_0000];
        let expected = PerfSample { ts_ns: 20, in_kernel: true, kernel, ..PerfSample::default() };
        assert_eq!(read(&bytes, 3).samples, [expected]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_records_of_some_kind(bytes: Vec<u8>, registers in 0..40_usize) {
            let records = read(&bytes, registers);
            prop_assert!(records.samples.len() + records.switches.len() <= bytes.len() / 8);
        }

        #[test]
        fn a_record_with_any_words_does_not_fail(words: Vec<u64>, kind in 8_u32..16, misc: u16) {
            let words = &words[..words.len().min(100)];
            read(&record(kind, misc, words), 3);
        }
    }
}
