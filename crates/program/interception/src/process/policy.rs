//! Whether the calling thread has a real-time policy, asked seldom: at its first call, after any thread's policy was changed
//! by this process, and every [`CALLS`] calls, because another process may have changed it.

use super::system;
use super::thread::Block;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};

const CALLS: u32 = 4096;
/// The kernel adds it to the policy of a thread whose children start without.
const RESET_ON_FORK: i64 = 0x4000_0000;
const SCHED_DEADLINE: i64 = 6;

/// Changes so far, and one.
static CHANGES: AtomicU32 = AtomicU32::new(1);
/// A filter may kill the process for a call that it does not know.
static IS_FILTERED: AtomicBool = AtomicBool::new(false);

/// The process changed a policy.
pub fn changed() {
    if CHANGES.fetch_add(1, Relaxed) == u32::MAX {
        CHANGES.store(1, Relaxed);
    }
}

/// Threads keep what they know.
pub fn ask_no_more() {
    IS_FILTERED.store(true, Relaxed);
}

/// Whether the thread of this block, which calls, has such a policy.
pub fn is_real_time(block: &Block) -> bool {
    let policy = &block.policy;
    let changes = CHANGES.load(Relaxed);
    let left = policy.calls_left.load(Relaxed);
    if left > 0 && policy.known_since.load(Relaxed) == changes {
        policy.calls_left.store(left - 1, Relaxed);
    } else if !IS_FILTERED.load(Relaxed) {
        policy.known_since.store(changes, Relaxed);
        policy.calls_left.store(CALLS, Relaxed);
        policy.is_real_time.store(u32::from(ask()), Relaxed);
    }
    policy.is_real_time.load(Relaxed) != 0
}

fn ask() -> bool {
    // SAFETY: the call takes a number and changes nothing.
    let policy = unsafe { system::call(libc::SYS_sched_getscheduler as u64, [0; 6]) } & !RESET_ON_FORK;
    [i64::from(libc::SCHED_FIFO), i64::from(libc::SCHED_RR), SCHED_DEADLINE].contains(&policy)
}
