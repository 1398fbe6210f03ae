//! Writes records into the ring of a thread.

use super::system;
use super::thread::Block;
use call_ring::record::{CALLERS, at};
use call_ring::{RESERVE, RING_RECORDS, returned_mark, running_mark};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// A call that is recorded.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// With its flags.
    pub number: u32,
    pub arguments: [u64; 6],
    /// The instruction after it.
    pub address: u64,
}

/// Whether a thread's ring has room for a record.
pub fn has_room(block: &Block) -> bool {
    // SAFETY: the address of a word in the control block of the thread's ring, which is never unmapped.
    let tail = unsafe { &*(block.tail.load(Relaxed) as *const AtomicU64) };
    block.head.load(Relaxed).wrapping_sub(tail.load(Relaxed)) < (RING_RECORDS - RESERVE) as u64
}

/// A record whose call runs.
pub struct Running {
    record: u64,
    position: u64,
}

/// A word of a record.
fn word(record: u64, offset: usize) -> &'static AtomicU64 {
    // SAFETY: records are aligned and lie in the ring that this thread took, which stays mapped; the meter only reads.
    unsafe { &*((record + offset as u64) as *const AtomicU64) }
}

fn record_at(block: &Block, position: u64) -> u64 {
    block.base.load(Relaxed) + (position % RING_RECORDS as u64) * call_ring::record::RECORD_BYTES as u64
}

impl Running {
    /// Starts a record of a thread that has a ring with room.
    pub fn begin(block: &Block, call: Call) -> Self {
        Self::begin_at(block, call, [0; CALLERS], system::ticks())
    }

    /// The same for a call with its callers that began at an instant.
    pub fn begin_at(block: &Block, call: Call, callers: [u64; CALLERS], entered: u64) -> Self {
        let position = block.head.fetch_add(1, Relaxed);
        let record = record_at(block, position);
        let tid = block.tid.load(Relaxed);
        word(record, at::NUMBER).store(u64::from(call.number) | u64::from(tid) << 32, Relaxed);
        for (index, argument) in call.arguments.into_iter().enumerate() {
            word(record, at::ARGUMENTS + index * 8).store(argument, Relaxed);
        }
        word(record, at::ADDRESS).store(call.address, Relaxed);
        for (index, caller) in callers.into_iter().enumerate() {
            word(record, at::CALLERS + index * 8).store(caller, Relaxed);
        }
        word(record, at::ENTERED).store(entered, Relaxed);
        word(record, at::MARK).store(running_mark(position), Release);
        Self { record, position }
    }

    /// The record at a position if its call runs, with its number and its thread.
    pub fn open_at(block: &Block, position: u64) -> Option<(Self, u32, u32)> {
        let record = record_at(block, position);
        if word(record, at::MARK).load(Relaxed) != running_mark(position) {
            return None;
        }
        let number_and_tid = word(record, at::NUMBER).load(Relaxed);
        Some((Self { record, position }, number_and_tid as u32, (number_and_tid >> 32) as u32))
    }

    pub fn end(self, ticks: u64, result: i64) {
        word(self.record, at::RESULT).store(result as u64, Relaxed);
        word(self.record, at::RETURNED).store(ticks, Relaxed);
        word(self.record, at::MARK).store(returned_mark(self.position), Release);
    }
}
