//! The memory in which an intercepted program leaves its system calls, and calls of the C library, byte by byte.
//!
//! The host creates it, the library in the program writes it, and the meter reads it as a file: a mapping of memory that
//! an untrusted program may change meanwhile is not needed. In order: [`header`], one control block for each ring, and
//! the [`record`]s of all rings.
//!
//! A thread takes a free ring, and writes its calls one after the other. The first word of a record is its mark: twice
//! its position in all that the ring ever held, plus one while the call runs, plus two once it has returned. A reader
//! that knows its position therefore recognizes a record of an earlier round.

#![deny(clippy::disallowed_methods)]

pub mod function;
pub mod header;
pub mod record;

/// Environment variable with the path of the memory, for the library in the program.
pub const MEMORY_VARIABLE: &str = "TARDY_INTERCEPTION";
/// File name of the library.
pub const LIBRARY_NAME: &str = "libinterception.so";
/// How the memory is called where /proc lists the mappings of the program.
pub const MEMORY_NAME: &str = "tardy-calls";

/// Threads that are recorded at a time.
pub const RINGS: usize = 64;
/// Records of a ring; a power of two.
pub const RING_RECORDS: usize = 16_384;
/// Records of a ring that stay free: signal handlers may interrupt a call between the check for room and its record.
pub const RESERVE: usize = 64;
/// Bytes of all of it.
pub const MEMORY_BYTES: usize = RECORDS_OFFSET + RINGS * RING_BYTES;

/// Where the control blocks start, and the bytes of each.
pub const CONTROL_OFFSET: usize = 32 << 10;
pub const CONTROL_BYTES: usize = 128;
/// Where the records start.
pub const RECORDS_OFFSET: usize = 64 << 10;
pub const RING_BYTES: usize = RING_RECORDS * record::RECORD_BYTES;

/// Fields of a control block: offsets in it.
pub mod control {
    /// `u32`: [`FREE`] or [`TAKEN`]. A program takes, the meter frees.
    pub const STATE: usize = 0;
    pub const PID: usize = 4;
    pub const TID: usize = 8;
    /// `u64`: calls that were not recorded because the ring was full.
    pub const LOST: usize = 16;
    /// `u64`: one more with each ring that is taken from this memory.
    pub const GENERATION: usize = 24;
    /// `u64`: the position up to which the meter has read. On a cache line of its own.
    pub const TAIL: usize = 64;

    pub const FREE: u32 = 0;
    pub const TAKEN: u32 = 1;
}

/// Where the control block of a ring is.
pub fn control_offset(ring: usize) -> usize {
    CONTROL_OFFSET + ring * CONTROL_BYTES
}

/// Where the record at a position of a ring is.
pub fn record_offset(ring: usize, position: u64) -> usize {
    let slot = (position % RING_RECORDS as u64) as usize;
    RECORDS_OFFSET + ring * RING_BYTES + slot * record::RECORD_BYTES
}

/// The mark of a record whose call runs.
pub fn running_mark(position: u64) -> u64 {
    position.wrapping_mul(2).wrapping_add(1)
}

/// The mark of a record whose call has returned.
pub fn returned_mark(position: u64) -> u64 {
    position.wrapping_mul(2).wrapping_add(2)
}

/// The position of a record by its mark, whether or not its call has returned.
pub fn position_of(mark: u64) -> u64 {
    mark.wrapping_sub(1) / 2
}

const _: () = assert!(RING_RECORDS.is_power_of_two() && RESERVE < RING_RECORDS);
const _: () = assert!(header::HEADER_BYTES <= CONTROL_OFFSET);
const _: () = assert!(CONTROL_OFFSET + RINGS * CONTROL_BYTES <= RECORDS_OFFSET);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_and_their_records_do_not_overlap() {
        let last = record_offset(0, RING_RECORDS as u64 - 1) + record::RECORD_BYTES;
        assert_eq!((last, record_offset(0, RING_RECORDS as u64)), (record_offset(1, 0), record_offset(0, 0)));
        assert_eq!(record_offset(RINGS - 1, RING_RECORDS as u64 - 1) + record::RECORD_BYTES, MEMORY_BYTES);
        assert!(control_offset(RINGS - 1) + CONTROL_BYTES <= RECORDS_OFFSET);
    }

    #[test]
    fn a_mark_belongs_to_one_position() {
        let marks: Vec<u64> = (0..100).flat_map(|at| [running_mark(at), returned_mark(at)]).collect();
        assert!(marks.windows(2).all(|pair| pair[0] < pair[1]) && marks[0] > 0);
        assert!((0..100).all(|at| [running_mark(at), returned_mark(at)].map(position_of) == [at, at]));
    }
}
