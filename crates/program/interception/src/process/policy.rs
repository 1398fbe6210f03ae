//! Whether the calling thread has a real-time policy, asked seldom: at its first call, after any thread's policy was changed
//! by this process, and every [`TICKS`], because another process may have changed it, as RTKit does.

use super::system;
use super::thread::Block;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};

/// Ticks of the counter, some milliseconds.
const TICKS: u64 = 1 << 24;
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

/// Every thread counts as one with such a policy from now on, because any may be one.
pub fn ask_no_more() {
    IS_FILTERED.store(true, Relaxed);
}

/// Whether the thread of this block, which calls, has such a policy, or may have it.
pub fn is_real_time(block: &Block) -> bool {
    if IS_FILTERED.load(Relaxed) {
        return true;
    }
    let policy = &block.policy;
    let (changes, now) = (CHANGES.load(Relaxed), system::ticks());
    let is_recent = now.wrapping_sub(policy.asked_at.load(Relaxed)) < TICKS;
    if !is_recent || policy.known_since.load(Relaxed) != changes {
        policy.known_since.store(changes, Relaxed);
        policy.asked_at.store(now, Relaxed);
        policy.is_real_time.store(u32::from(ask()), Relaxed);
    }
    policy.is_real_time.load(Relaxed) != 0
}

/// Asks the kernel; a thread that it gives no answer may have such a policy.
fn ask() -> bool {
    // SAFETY: the call takes a number and changes nothing.
    let policy = unsafe { system::call(libc::SYS_sched_getscheduler as u64, [0; 6]) };
    let is_one = |policy| [i64::from(libc::SCHED_FIFO), i64::from(libc::SCHED_RR), SCHED_DEADLINE].contains(&policy);
    policy < 0 || is_one(policy & !RESET_ON_FORK)
}
