//! Follows the callers of a thread through its own stack.

use super::modules;
use crate::frames::{Base, Frames, Position, Row};
use call_ring::record::CALLERS;
use std::ops::Range;
use std::sync::OnceLock;

/// The files that were loaded when the program started, in order of address.
static FILES: OnceLock<Vec<(Range<u64>, Frames)>> = OnceLock::new();

/// The rule of code with frame pointers, for files that were loaded later.
const BY_FRAME: Row = Row { start: 0, offset: 16, saved: Some(-16), base: Base::Frame };

/// Reads the tables of all loaded files.
pub fn prepare() {
    let mut files = modules::frames();
    files.sort_by_key(|(range, _)| range.start);
    let _ = FILES.set(files);
}

/// Return addresses above a position, innermost first; `stack` is the mapped part of the thread's stack above it.
pub fn callers(mut at: Position, stack: &Range<u64>) -> [u64; CALLERS] {
    let mut callers = [0; CALLERS];
    // SAFETY: rules ask for words between the stack pointer of a position and the end of the thread's stack, which are mapped.
    let word = |address: u64| unsafe { (address as *const u64).read() };
    for caller in &mut callers {
        // The call may be the last instruction of its function.
        let Some(found) = rule(at.address.wrapping_sub(1)).caller(at, stack, &word).filter(|found| found.address != 0)
        else {
            break;
        };
        *caller = found.address;
        at = found;
    }
    callers
}

fn rule(address: u64) -> Row {
    let files = FILES.get().map_or(&[][..], Vec::as_slice);
    let after = files.partition_point(|(range, _)| range.start <= address);
    let file = files[..after].last().filter(|(range, _)| range.contains(&address));
    match file {
        Some((_, frames)) => frames.find(address).copied().unwrap_or(BY_FRAME),
        None => BY_FRAME,
    }
}
