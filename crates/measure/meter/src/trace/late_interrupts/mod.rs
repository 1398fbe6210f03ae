//! Records the code that late timer interrupts broke into, where the kernel is a guest with a steal clock: user space or a function
//! of the kernel, and how much time the hypervisor counts as stolen since the kernel last took it into account. The events of
//! a trace do not show this, and it distinguishes masked interrupts from a host that was late.
//!
//! A program of some tens of instructions at `hrtimer_expire_entry` reads the expiry and the clock; only of a late timer does
//! it read more. Without the right to load it, or without the kernel's description of its types, there are no such records.

mod kernel_types;
mod program;

use crate::environment::steal_clock;
use crate::kernel::bpf::{Array, Attached};
use kernel_types::Offsets;
use std::ops::RangeInclusive;
use std::path::Path;

const TYPES_OF_THE_KERNEL: &str = "/sys/kernel/btf/vmlinux";
/// Bits of the code segment that are set in user space.
const USER_SPACE: u64 = 3;
/// A spike has few; more of them show nothing new.
const RECORDS_MAX: usize = 32;

/// A late interrupt, as the kernel recorded it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    pub cpu: u32,
    pub ts_ns: i64,
    pub late_ns: i64,
    pub tid: i32,
    /// `None` in user space.
    pub place: Option<Place>,
    pub stolen_ns: Option<u64>,
}

/// Where in the kernel an interrupt came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Address of the instruction that was next.
    pub instruction: u64,
    pub code_before: [u8; program::CODE_BYTES],
}

/// The records of all CPUs, until it is dropped.
#[derive(Debug)]
pub struct LateInterrupts {
    _attached: Attached,
    records: Array,
    cpus: Vec<u32>,
}

impl LateInterrupts {
    /// `None` where the kernel is no such guest, or cannot record them.
    pub fn record(cpus: &[u32]) -> Option<Self> {
        let guest = cfg!(target_arch = "x86_64") && steal_clock(Path::new("/")) != Some(false);
        let offsets = Some(TYPES_OF_THE_KERNEL).filter(|_| guest).and_then(|path| std::fs::read(path).ok());
        let offsets = Offsets::find(&offsets?)?;
        let count = cpus.iter().max()? + 1;
        let records = Array::new(program::HEAD_BYTES + program::RECORDS * program::RECORD_BYTES, count).ok()?;
        let instructions = program::instructions(&offsets, records.number());
        let attached = Attached::at_trace_point(&instructions, offsets.hook).ok()?;
        Some(Self { _attached: attached, records, cpus: cpus.to_vec() })
    }

    /// The last ones of a stretch, ascending.
    pub fn within(&self, stretch: &RangeInclusive<i64>) -> Vec<Recorded> {
        let mut found = Vec::new();
        for &cpu in &self.cpus {
            let element = self.records.read(cpu).unwrap_or_default();
            let records = element.get(program::HEAD_BYTES..).unwrap_or_default();
            let all = records.chunks_exact(program::RECORD_BYTES).filter_map(|record| decode(cpu, record));
            found.extend(all.filter(|one| stretch.contains(&one.ts_ns)));
        }
        crate::compact::sort_by_key(&mut found, |one| one.ts_ns);
        found.split_off(found.len().saturating_sub(RECORDS_MAX))
    }
}

/// `None` of a record that is empty, was being written, or is not of an interrupt.
fn decode(cpu: u32, record: &[u8]) -> Option<Recorded> {
    let number = |offset: usize| Some(u64::from_ne_bytes(record.get(offset..offset + 8)?.try_into().ok()?));
    let stamp = number(program::STAMP)?;
    let (instruction, segment) = (number(program::INSTRUCTION)?, number(program::CODE_SEGMENT)?);
    if stamp == 0 || stamp != number(program::STAMP_AGAIN)? || segment == 0 {
        return None;
    }
    let code_before = record.get(program::CODE..program::CODE + program::CODE_BYTES)?.try_into().ok()?;
    let ts_ns = i64::try_from(stamp).ok()?;
    Some(Recorded {
        cpu,
        ts_ns,
        late_ns: ts_ns.checked_sub(i64::try_from(number(program::EXPIRY_OF_TIMER)?).ok()?)?,
        tid: number(program::THREAD)? as u32 as i32,
        place: (segment & USER_SPACE == 0).then_some(Place { instruction, code_before }),
        stolen_ns: number(program::STOLEN)?.checked_sub(number(program::STOLEN_BEFORE)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::clock::monotonic_ns;
    use std::thread::sleep;
    use std::time::Duration;

    fn record(words: [u64; 10]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn a_record_shows_what_was_interrupted() {
        let (thread, process) = (4711_u64, 4700_u64 << 32);
        let user = record([5_000, process | thread, 0x40_1000, 0x33, 900, 200, 4_000, 0, 0, 5_000]);
        let expected = Recorded { cpu: 3, ts_ns: 5_000, late_ns: 1_000, tid: 4711, place: None, stolen_ns: Some(700) };
        assert_eq!(decode(3, &user), Some(expected));
        let kernel = record([5_000, 0, 0xffff_ffff_8100_0000, 0x10, 900, 900, 4_000, 0, 0xfb << 56, 5_000]);
        let mut code_before = [0; program::CODE_BYTES];
        code_before[15] = 0xfb;
        let place = Place { instruction: 0xffff_ffff_8100_0000, code_before };
        let expected =
            Recorded { cpu: 3, ts_ns: 5_000, late_ns: 1_000, tid: 0, place: Some(place), stolen_ns: Some(0) };
        assert_eq!(decode(3, &kernel), Some(expected));
    }

    #[test]
    fn a_record_that_shows_nothing_is_left_out() {
        assert_eq!(decode(0, &record([0; 10])), None, "empty");
        assert_eq!(decode(0, &record([5_000, 0, 1, 0x33, 0, 0, 0, 0, 0, 6_000])), None, "being written");
        assert_eq!(decode(0, &record([5_000, 0, 0, 0, 0, 0, 0, 0, 0, 5_000])), None, "no interrupt");
        let turned = decode(0, &record([5_000, 0, 1, 0x33, 100, 200, 0, 0, 0, 5_000])).expect("a record");
        assert_eq!(turned.stolen_ns, None, "no time can have been given back");
    }

    #[test]
    fn late_timers_of_a_guest_are_recorded() {
        let guest = steal_clock(Path::new("/")) == Some(true) && Path::new(TYPES_OF_THE_KERNEL).exists();
        prerequisites::require!(Root, Kernel("a guest with a steal clock that describes its types", guest));
        let count = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
        let cpus: Vec<u32> = (0..count).collect();
        let late = LateInterrupts::record(&cpus).expect("the kernel accepts the program");
        let start_ns = monotonic_ns();
        // Timers of a guest are late from time to time, and late enough within some seconds.
        let seen = (0..1000).any(|_| {
            sleep(Duration::from_millis(10));
            !late.within(&(start_ns..=monotonic_ns())).is_empty()
        });
        assert!(seen, "no timer was more than {} ns late", program::LATE_NS);
        let now_ns = monotonic_ns();
        let found = late.within(&(start_ns..=now_ns));
        assert!(found.iter().all(|one| cpus.contains(&one.cpu) && one.stolen_ns.is_some()), "{found:?}");
        assert_eq!(late.within(&(now_ns + 1_000_000_000..=i64::MAX)), []);
    }
}
