//! Reads what an intercepted program records of itself.
//!
//! The memory is read as a file, never mapped: whatever the program writes into it or does to it, a read returns bytes or an
//! error. Nothing read from it is used as a length or an offset; how far each ring was read is remembered here.

mod tick_clock;

use archive::audit::{Interception, LibraryCalls, PatchRefusal, Unpatched, UnpatchedReason};
use call_ring::function::{Function, Recorded};
use call_ring::header::{MAGIC, Reason, Refusal, UNPATCHED_BYTES, UNPATCHED_MAX, at};
use call_ring::record::{NEVER, RECORD_BYTES, Record};
use call_ring::{
    CONTROL_BYTES, CONTROL_OFFSET, MEMORY_BYTES, RESERVE, RING_RECORDS, RINGS, control, control_offset, position_of,
    record_offset, returned_mark, running_mark,
};
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use thiserror::Error;
use tick_clock::TickClock;

/// Records of a ring that are read at once.
const CHUNK_RECORDS: usize = 1024;

/// The memory cannot be read.
#[derive(Debug, Error)]
pub enum InterceptionError {
    #[error("the memory of the intercepted program cannot be opened: {0}")]
    Open(#[from] io::Error),
    #[error("the memory of the intercepted program is not one of this version")]
    Version,
    #[error("this processor has no cycle counter that programs can read")]
    NoCounter,
}

/// The rings of an intercepted program.
pub struct Intercepted {
    file: File,
    clock: TickClock,
    rings: Vec<Ring>,
}

/// How far a ring was read.
#[derive(Debug, Clone, Default)]
struct Ring {
    position: u64,
    owner: Owner,
    /// Calls of this ring that were counted as lost so far.
    lost_seen: u64,
    /// Calls that were lost right before the record at a position, ascending.
    lost_before: VecDeque<(u64, u64)>,
    /// Calls of the owner that were lost or left out since the last record that was kept.
    lost_since: u64,
}

impl Ring {
    /// Places the losses that the library counted since the last time. It loses calls while the ring is full from the position of
    /// the reader on, so they lie right before the record that comes next in the full ring.
    fn note_losses(&mut self, lost: u64) {
        let fresh = lost.saturating_sub(self.lost_seen);
        self.lost_seen = lost;
        if fresh == 0 {
            return;
        }
        let next = self.position.wrapping_add((RING_RECORDS - RESERVE) as u64);
        match self.lost_before.back_mut() {
            Some((position, count)) if *position == next => *count = count.saturating_add(fresh),
            _ => self.lost_before.push_back((next, fresh)),
        }
    }

    /// The losses right before the record at a position.
    fn take_losses(&mut self, position: u64) -> u64 {
        let mut lost = 0_u64;
        while let Some((_, count)) = self.lost_before.front().copied().filter(|(next, _)| *next <= position) {
            lost = lost.saturating_add(count);
            self.lost_before.pop_front();
        }
        lost
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Owner {
    taken: bool,
    pid: u32,
    tid: u32,
    generation: u64,
    lost: u64,
}

impl Intercepted {
    /// Opens the memory.
    ///
    /// # Errors
    /// [`InterceptionError`].
    pub fn open(path: &Path) -> Result<Self, InterceptionError> {
        let file = File::options().read(true).write(true).open(path)?;
        let mut magic = [0; 8];
        let about = file.metadata()?;
        file.read_exact_at(&mut magic, at::MAGIC as u64)?;
        if !about.is_file() || about.len() != MEMORY_BYTES as u64 || u64::from_le_bytes(magic) != MAGIC {
            return Err(InterceptionError::Version);
        }
        let clock = TickClock::new().ok_or(InterceptionError::NoCounter)?;
        Ok(Self { file, clock, rings: vec![Ring::default(); RINGS] })
    }

    /// Appends the calls since the last time, at most `bytes_max` of them in all, which the threads share; returns the number of
    /// those left out. A record names the calls that were lost before it.
    pub fn drain(&mut self, bytes_max: u64, out: &mut Vec<u8>) -> u64 {
        self.drain_as(bytes_max, out, false)
    }

    /// Appends what is left, also calls that have not returned.
    pub fn drain_all(&mut self, bytes_max: u64, out: &mut Vec<u8>) -> u64 {
        self.drain_as(bytes_max, out, true)
    }

    fn drain_as(&mut self, bytes_max: u64, out: &mut Vec<u8>, is_last: bool) -> u64 {
        self.read_owners();
        let taken: Vec<usize> = (0..RINGS).filter(|ring| self.rings[*ring].owner.taken).collect();
        let mut left_out = 0;
        for (index, ring) in taken.iter().copied().enumerate() {
            let mut fresh = self.returned(ring);
            let is_abandoned = self.is_abandoned(ring);
            if is_abandoned || is_last {
                // Between the two, the thread may have ended.
                fresh.extend(self.returned(ring));
                fresh.extend(self.unfinished(ring));
            }
            if !fresh.is_empty() {
                self.clock.advance();
            }
            // What one thread does not use is for those after it.
            let room = bytes_max.saturating_sub(out.len() as u64) / (taken.len() - index) as u64;
            let kept = usize::try_from(room).unwrap_or(usize::MAX) / RECORD_BYTES;
            left_out += self.append(ring, &fresh, kept, out);
            if is_abandoned {
                self.put(control_offset(ring) + control::STATE, &control::FREE.to_le_bytes());
                // The next owner lost none of them. The count of the ring goes on.
                self.rings[ring].lost_since = 0;
                self.rings[ring].lost_before.clear();
            }
        }
        left_out
    }

    /// Appends the first `kept_max` records of a ring; returns the number of the others.
    fn append(&mut self, ring: usize, fresh: &[Record], kept_max: usize, out: &mut Vec<u8>) -> u64 {
        let mut left_out = 0;
        for (index, record) in fresh.iter().enumerate() {
            let of_ring = &mut self.rings[ring];
            let lost = of_ring.take_losses(position_of(record.mark));
            of_ring.lost_since = of_ring.lost_since.saturating_add(lost);
            if index < kept_max {
                let lost = std::mem::take(&mut of_ring.lost_since);
                out.extend(self.dated(*record, self.rings[ring].owner, lost).bytes());
            } else {
                of_ring.lost_since = of_ring.lost_since.saturating_add(1);
                left_out += 1;
            }
        }
        left_out
    }

    /// The library's report of itself.
    pub fn describe(&mut self, left_out: u64) -> Interception {
        self.read_owners();
        let mut header = vec![0; CONTROL_OFFSET];
        let _ = self.file.read_exact_at(&mut header, 0);
        let word = |at: usize| bytes_at::<8>(&header, at).map_or(0, u64::from_le_bytes);
        let half = |at: usize| bytes_at::<4>(&header, at).map_or(0, u32::from_le_bytes);
        let listed = usize::try_from(word(at::NOT_PATCHED)).unwrap_or(usize::MAX).min(UNPATCHED_MAX);
        let unpatched = (0..listed).filter_map(|index| {
            let entry = at::UNPATCHED + index * UNPATCHED_BYTES;
            let reason = reason(Reason::from_number(half(entry + 8))?);
            Some(Unpatched { address: word(entry), pid: i32::try_from(half(entry + 12)).ok()?, reason })
        });
        let lost = self.rings.iter().fold(word(at::LOST), |sum, ring| sum.saturating_add(ring.owner.lost));
        Interception {
            processes: word(at::PROCESSES),
            patched: word(at::PATCHED),
            not_patched: word(at::NOT_PATCHED),
            unpatched: unpatched.collect(),
            refusal: Refusal::from_number(half(at::REFUSAL)).map(refusal),
            of_library: Recorded::from_number(half(at::LIBRARY_CALLS)).map(|recorded| LibraryCalls {
                all_threads: recorded == Recorded::All,
                elsewhere: names(word(at::ELSEWHERE)),
            }),
            lost: lost.saturating_add(left_out),
        }
    }

    fn read_owners(&mut self) {
        let mut controls = vec![0; RINGS * CONTROL_BYTES];
        if self.file.read_exact_at(&mut controls, CONTROL_OFFSET as u64).is_err() {
            return;
        }
        for (ring, place) in self.rings.iter_mut().zip(controls.chunks_exact(CONTROL_BYTES)) {
            let word = |at: usize| bytes_at::<8>(place, at).map_or(0, u64::from_le_bytes);
            let half = |at: usize| bytes_at::<4>(place, at).map_or(0, u32::from_le_bytes);
            ring.owner = Owner {
                taken: half(control::STATE) == control::TAKEN,
                pid: half(control::PID),
                tid: half(control::TID),
                generation: word(control::GENERATION),
                lost: word(control::LOST),
            };
        }
    }

    /// The thread has ended, or has executed another program, which took another ring.
    fn is_abandoned(&self, ring: usize) -> bool {
        let owner = self.rings[ring].owner;
        if owner.generation == 0 {
            return false;
        }
        let same = |other: &Owner| (other.pid, other.tid) == (owner.pid, owner.tid);
        let others = self.rings.iter().map(|ring| ring.owner).filter(|other| other.taken && same(other));
        let is_older = others.into_iter().any(|other| other.generation > owner.generation);
        is_older || !Path::new(&format!("/proc/{}/task/{}", owner.pid, owner.tid)).exists()
    }

    /// The calls from the position on that have returned, up to the first one that has not.
    fn returned(&mut self, ring: usize) -> Vec<Record> {
        let mut found = Vec::new();
        while found.len() < RING_RECORDS {
            let position = self.rings[ring].position;
            let has_returned = |index: usize, record: &Record| record.mark == returned_mark(position + index as u64);
            let first = self.read(ring, position, 1);
            if !first.first().is_some_and(|record| has_returned(0, record)) {
                break;
            }
            let seen = self.read(ring, position, CHUNK_RECORDS);
            let count = seen.iter().enumerate().take_while(|(index, record)| has_returned(*index, record)).count();
            // Their marks were there, so a second look finds the records complete.
            let records = self.read(ring, position, count);
            found.extend(records);
            self.advance(ring, count as u64);
        }
        found
    }

    /// The calls from the position on, whether or not they have returned. Nothing is recorded in this ring any more.
    fn unfinished(&mut self, ring: usize) -> Vec<Record> {
        let position = self.rings[ring].position;
        let records = self.read(ring, position, RING_RECORDS);
        let is_of = |index: usize, record: &Record| {
            let at = position + index as u64;
            record.mark == running_mark(at) || record.mark == returned_mark(at)
        };
        let own = records.iter().enumerate().filter(|(index, record)| is_of(*index, record));
        let last = own.clone().next_back().map_or(0, |(index, _)| index as u64 + 1);
        let closed = own.map(|(index, record)| {
            let runs = record.mark == running_mark(position + index as u64);
            if runs { Record { returned: NEVER, ..*record } } else { *record }
        });
        let closed = closed.collect();
        self.advance(ring, last);
        closed
    }

    fn advance(&mut self, ring: usize, count: u64) {
        let mut lost = [0; 8];
        if self.file.read_exact_at(&mut lost, (control_offset(ring) + control::LOST) as u64).is_ok() {
            self.rings[ring].note_losses(u64::from_le_bytes(lost));
        }
        let position = &mut self.rings[ring].position;
        *position = position.wrapping_add(count);
        let position = *position;
        self.put(control_offset(ring) + control::TAIL, &position.to_le_bytes());
    }

    /// A program that cut its memory short loses its own records.
    fn put(&self, offset: usize, bytes: &[u8]) {
        let _ = self.file.write_all_at(bytes, offset as u64);
    }

    /// Records from a position on, up to the end of the ring's memory or its start.
    fn read(&self, ring: usize, position: u64, count: usize) -> Vec<Record> {
        let slot = (position % RING_RECORDS as u64) as usize;
        let until_end = count.min(RING_RECORDS - slot);
        let mut bytes = vec![0; count * RECORD_BYTES];
        let (first, second) = bytes.split_at_mut(until_end * RECORD_BYTES);
        let is_read = self.file.read_exact_at(first, record_offset(ring, position) as u64).is_ok()
            && self.file.read_exact_at(second, record_offset(ring, 0) as u64).is_ok();
        if is_read { call_ring::record::records(&bytes).collect() } else { Vec::new() }
    }

    /// The record as it is stored: with instants, and in place of the mark the process, and above it how many calls of the thread
    /// were lost before.
    fn dated(&self, record: Record, owner: Owner, lost_before: u64) -> Record {
        let ns = |ticks: u64| u64::try_from(self.clock.ns(ticks)).unwrap_or(0);
        let returned = if record.returned == NEVER { NEVER } else { ns(record.returned) };
        let lost_before = lost_before.min(u64::from(u32::MAX));
        Record { mark: u64::from(owner.pid) | lost_before << 32, entered: ns(record.entered), returned, ..record }
    }
}

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

/// The functions of these bits, each name once.
fn names(bits: u64) -> Vec<String> {
    let chosen = Function::ALL.iter().filter(|function| bits & function.bit() != 0);
    let mut names: Vec<String> = chosen.map(|function| function.name().to_owned()).collect();
    names.dedup();
    names
}

fn reason(reason: Reason) -> UnpatchedReason {
    match reason {
        Reason::FunctionUnknown => UnpatchedReason::FunctionUnknown,
        Reason::NoRoom => UnpatchedReason::NoRoom,
        Reason::JumpedInto => UnpatchedReason::JumpedInto,
        Reason::JumpTable => UnpatchedReason::JumpTable,
        Reason::NoStack => UnpatchedReason::NoStack,
        Reason::NoMemoryNear => UnpatchedReason::NoMemoryNear,
        Reason::Protected => UnpatchedReason::Protected,
        Reason::NotDecoded => UnpatchedReason::NotDecoded,
    }
}

fn refusal(refusal: Refusal) -> PatchRefusal {
    match refusal {
        Refusal::Threads => PatchRefusal::Threads,
        Refusal::NoMemory => PatchRefusal::NoMemory,
        Refusal::Architecture => PatchRefusal::Architecture,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tempfile::NamedTempFile;

    fn memory() -> NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(MEMORY_BYTES as u64).unwrap();
        file.as_file().write_all_at(&MAGIC.to_le_bytes(), 0).unwrap();
        file
    }

    /// A record with the mark of its position.
    fn record(position: u64, returned: bool) -> Record {
        Record {
            mark: if returned { returned_mark(position) } else { running_mark(position) },
            entered: position,
            returned: position,
            number: (position % 400) as u32,
            injected: false,
            of_library: false,
            tid: 7,
            arguments: [0; 6],
            result: 0,
            address: 0,
            callers: [0; 4],
        }
    }

    fn take(file: &NamedTempFile, ring: usize, pid: u32) {
        let place = control_offset(ring) as u64;
        let put = |at: usize, bytes: &[u8]| file.as_file().write_all_at(bytes, place + at as u64).unwrap();
        put(control::STATE, &control::TAKEN.to_le_bytes());
        put(control::PID, &pid.to_le_bytes());
        put(control::TID, &pid.to_le_bytes());
        put(control::GENERATION, &1_u64.to_le_bytes());
    }

    fn write(file: &NamedTempFile, ring: usize, record: &Record, position: u64) {
        file.as_file().write_all_at(&record.bytes(), record_offset(ring, position) as u64).unwrap();
    }

    fn numbers(bytes: &[u8]) -> Vec<u32> {
        call_ring::record::records(bytes).map(|record| record.number).collect()
    }

    #[test]
    fn calls_are_read_in_order_round_after_round_and_a_running_one_is_waited_for() {
        let file = memory();
        let mut reader = Intercepted::open(file.path()).unwrap();
        take(&file, 3, std::process::id());
        let rounds = 2 * RING_RECORDS as u64 + 100;
        let mut read = Vec::new();
        for position in 0..rounds {
            write(&file, 3, &record(position, true), position);
            if position % 10_000 == 9_999 {
                reader.drain(u64::MAX, &mut read);
            }
        }
        write(&file, 3, &record(rounds, false), rounds);
        write(&file, 3, &record(rounds + 1, true), rounds + 1);
        assert_eq!(reader.drain(u64::MAX, &mut read), 0);
        let expected = |end: u64| (0..end).map(|position| (position % 400) as u32).collect::<Vec<u32>>();
        assert_eq!(numbers(&read), expected(rounds));
        reader.drain_all(u64::MAX, &mut read);
        assert_eq!(numbers(&read), expected(rounds + 2));
        let last = call_ring::record::records(&read).nth(rounds as usize).unwrap();
        assert_eq!(last.returned, NEVER);
    }

    #[test]
    fn recorded_functions_are_described_and_those_that_are_not_seen_named_once() {
        let file = memory();
        let mut reader = Intercepted::open(file.path()).unwrap();
        assert_eq!(reader.describe(0).of_library, None);
        let put = |bytes: &[u8], offset: usize| file.as_file().write_all_at(bytes, offset as u64).unwrap();
        put(&(Recorded::All as u32).to_le_bytes(), at::LIBRARY_CALLS);
        let elsewhere = [Function::Delete, Function::DeleteSized, Function::Free].map(Function::bit);
        put(&elsewhere.iter().sum::<u64>().to_le_bytes(), at::ELSEWHERE);
        let library = reader.describe(0).of_library.unwrap();
        assert_eq!((library.all_threads, library.elsewhere), (true, vec!["free".into(), "operator delete".into()]));
    }

    #[test]
    fn the_ring_of_a_process_that_ended_is_free_for_another_one() {
        let file = memory();
        let mut reader = Intercepted::open(file.path()).unwrap();
        // No process has this number.
        take(&file, 0, 0x7fff_fff0);
        write(&file, 0, &record(0, true), 0);
        write(&file, 0, &record(1, false), 1);
        let mut read = Vec::new();
        reader.drain(u64::MAX, &mut read);
        assert_eq!(numbers(&read), [0, 1]);
        let mut state = [1; 4];
        file.as_file().read_exact_at(&mut state, (control_offset(0) + control::STATE) as u64).unwrap();
        assert_eq!(u32::from_le_bytes(state), control::FREE);
        // The next owner goes on where the first one was read.
        take(&file, 0, std::process::id());
        write(&file, 0, &record(2, true), 2);
        reader.drain(u64::MAX, &mut read);
        assert_eq!(numbers(&read), [0, 1, 2]);
    }

    #[test]
    fn calls_over_the_budget_are_counted() {
        let file = memory();
        let mut reader = Intercepted::open(file.path()).unwrap();
        take(&file, 0, std::process::id());
        (0..10).for_each(|position| write(&file, 0, &record(position, true), position));
        let mut read = Vec::new();
        let left_out = reader.drain(4 * RECORD_BYTES as u64, &mut read);
        assert_eq!((numbers(&read).len(), left_out, reader.describe(left_out).lost), (4, 6, 6));
    }

    /// The ring is full, loses calls, and goes on as soon as a part of it is read.
    #[test]
    fn losses_stand_before_the_record_that_follows_them() {
        let file = memory();
        let mut reader = Intercepted::open(file.path()).unwrap();
        take(&file, 0, std::process::id());
        let full = (RING_RECORDS - RESERVE) as u64;
        (0..full).for_each(|position| write(&file, 0, &record(position, true), position));
        let lose = |count: u64| {
            file.as_file().write_all_at(&count.to_le_bytes(), (control_offset(0) + control::LOST) as u64).unwrap();
        };
        lose(70);
        (full..full + 50).for_each(|position| write(&file, 0, &record(position, true), position));
        let mut read = Vec::new();
        reader.drain(u64::MAX, &mut read);
        (full + 50..full + 60).for_each(|position| write(&file, 0, &record(position, true), position));
        reader.drain(u64::MAX, &mut read);
        let losses: Vec<(u64, u64)> = call_ring::record::records(&read)
            .filter(|record| record.mark >> 32 > 0)
            .map(|record| (record.number.into(), record.mark >> 32))
            .collect();
        assert_eq!((losses, reader.describe(0).lost), (vec![(full % 400, 70)], 70));
    }

    #[test]
    fn memory_of_another_version_is_refused() {
        let file = memory();
        file.as_file().write_all_at(b"other", 0).unwrap();
        assert!(matches!(Intercepted::open(file.path()), Err(InterceptionError::Version)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// Whatever the program writes, reading ends, and no more comes than a ring holds.
        #[test]
        fn any_contents_are_read(
            words in proptest::collection::vec((0_usize..CONTROL_OFFSET / 8, any::<u64>()), 0..40),
            controls in proptest::collection::vec((0_usize..RINGS * CONTROL_BYTES / 8, prop_oneof![0_u64..4, any::<u64>()]), 0..80),
            marks in proptest::collection::vec((0_usize..RINGS, 0_u64..64, any::<u64>(), any::<u64>()), 0..80),
            cut in any::<bool>(),
        ) {
            let file = memory();
            let mut reader = Intercepted::open(file.path()).unwrap();
            let put = |at: usize, word: u64| file.as_file().write_all_at(&word.to_le_bytes(), at as u64).unwrap();
            words.iter().for_each(|(at, word)| put(at * 8, *word));
            controls.iter().for_each(|(at, word)| put(CONTROL_OFFSET + at * 8, *word));
            for (ring, position, mark, ticks) in marks {
                let record = Record { mark: mark % 200, entered: ticks, returned: ticks, ..record(position, true) };
                write(&file, ring, &record, position);
            }
            let mut read = Vec::new();
            reader.drain(u64::MAX, &mut read);
            if cut {
                file.as_file().set_len(100).unwrap();
            }
            reader.drain_all(u64::MAX, &mut read);
            reader.describe(0);
            prop_assert!(read.len() <= 3 * RINGS * RING_RECORDS * RECORD_BYTES);
        }
    }
}
