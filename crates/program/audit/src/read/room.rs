//! The room for what is read: events are joined, and threads that ended long ago are left out, before memory is short.

use super::{Open, Reading};
use crate::activity::Activity;
use crate::condense::{Site, condense};

/// Most bytes that are kept of what threads did; with more, events of one site are joined.
pub(super) const KEPT_BYTES_MAX: usize = 16 << 20;
/// Most bytes that may stay after that. A description from elsewhere may turn few bytes into many sites.
pub(super) const APART_BYTES_MAX: usize = KEPT_BYTES_MAX / 4 * 3;
/// Threads that are kept whatever they take.
const THREADS_MIN: usize = 64;

impl Reading {
    /// Joins events if there are more than are kept, and leaves out threads that ended long ago if they come from too many sites;
    /// `false` if neither makes room.
    pub(super) fn makes_room(&mut self) -> bool {
        if self.kept_bytes <= KEPT_BYTES_MAX {
            return true;
        }
        for site in [Site::WithObject, Site::Alone] {
            self.recorded.threads.values_mut().for_each(|thread| condense(thread, site));
            if self.counts_bytes() <= APART_BYTES_MAX {
                return true;
            }
        }
        while self.recorded.threads.len() > THREADS_MIN && self.leave_out_half() {
            if self.counts_bytes() <= APART_BYTES_MAX {
                return true;
            }
        }
        self.recorded.cut_off = true;
        false
    }

    fn counts_bytes(&mut self) -> usize {
        let threads: usize = self.recorded.threads.values().map(bytes_of_thread).sum();
        self.kept_bytes = threads + self.known_stacks.forget_unused();
        self.kept_bytes
    }

    /// Leaves out the threads whose last event is the oldest; `false` if all ended at once.
    fn leave_out_half(&mut self) -> bool {
        let mut last_ns: Vec<i64> = self.recorded.threads.values().map(|thread| thread.last_ns).collect();
        let middle = last_ns.len() / 2;
        let (_, middle_ns, _) = last_ns.select_nth_unstable(middle);
        let middle_ns = *middle_ns;
        let before = self.recorded.threads.len();
        self.recorded.threads.retain(|_, thread| thread.last_ns >= middle_ns);
        self.open.retain(|tid, _| self.recorded.threads.contains_key(tid));
        let left_out = before - self.recorded.threads.len();
        self.recorded.threads_left_out += left_out as u64;
        left_out > 0
    }
}

pub(super) fn bytes_of_thread(thread: &Activity) -> usize {
    let calls = size_of_val(&thread.calls[..]) + size_of_val(&thread.function_calls[..]);
    let events = calls + size_of_val(&thread.faults[..]) + size_of_val(&thread.signals[..]);
    let wakers = thread.wakers.len() * 2 * size_of::<(i32, u64)>();
    size_of::<Activity>() + size_of::<Open>() + events + wakers
}
