//! Delays of a thread before the device had a request of it.
//!
//! Neither a lack of free requests, nor writeback throttling, nor a limit of a cgroup has an event. The number of requests in use
//! distinguishes the first two, and a thread of the kernel that submits for a sleeping one shows the third.

use crate::parts::Part;
use crate::sleeps::Sleep;
use archive::storage::{StorageCause, StorageDevice};
use std::collections::BTreeMap;

/// A thread is woken right after the completion that it waited for.
const WOKEN_WITHIN_NS: i64 = 1_000_000;

/// How many requests of the device are in use, at any instant.
#[derive(Debug, Default)]
pub struct InUse {
    /// Ascending: when requests were taken, and when they were complete.
    taken: Vec<i64>,
    complete: Vec<i64>,
}

impl InUse {
    /// Of all parts that got a request of their own and were seen to complete.
    pub fn of(parts: &[Part]) -> Self {
        let own = parts.iter().filter(|part| !part.merged);
        let both = own.filter_map(|part| Some((part.got_ns?, part.done_ns()?)));
        let (mut taken, mut complete): (Vec<i64>, Vec<i64>) = both.unzip();
        taken.sort_unstable();
        complete.sort_unstable();
        Self { taken, complete }
    }

    fn at(&self, at_ns: i64) -> usize {
        let count = |instants: &[i64]| instants.partition_point(|instant| *instant <= at_ns);
        count(&self.taken).saturating_sub(count(&self.complete))
    }

    /// Why a thread that had no request yet fell asleep.
    pub fn cause_of_sleep(&self, device: &StorageDevice, at_ns: i64) -> StorageCause {
        let most = usize::try_from(device.requests_max).unwrap_or(usize::MAX);
        match (self.at(at_ns) < most, device.throttles_writeback) {
            (true, true) => StorageCause::WritebackThrottling,
            (false, false) if most > 0 => StorageCause::AllInUse,
            _ => StorageCause::NoRequest,
        }
    }
}

/// The part that ended a sleep of a thread with nothing of its own at the device: the kernel holds a request back for a limit of
/// a cgroup, and a thread of its own submits it later.
pub fn submitted_later<'a>(
    parts: &BTreeMap<i32, Vec<&'a Part>>,
    names: &BTreeMap<i32, String>,
    sleep: &Sleep,
    may_look: &dyn Fn(u64) -> bool,
) -> Option<&'a Part> {
    let woken_ns = sleep.woken_ns.filter(|_| may_look(names.len() as u64))?;
    let workers = names.iter().filter(|(_, name)| name.starts_with("kworker/"));
    let of_workers = workers.filter_map(|(tid, _)| parts.get(tid)).flat_map(|parts| {
        let from = parts.partition_point(|part| part.start_ns() < sleep.from_ns);
        let until = parts.partition_point(|part| part.start_ns() <= woken_ns);
        if may_look((until - from.min(until)) as u64) { &parts[from.min(until)..until] } else { &[] }
    });
    let ended = of_workers.filter_map(|part| Some((part.done_ns()?, *part)));
    let (done_ns, part) = ended.filter(|(done_ns, _)| *done_ns <= woken_ns).max_by_key(|(done_ns, _)| *done_ns)?;
    (woken_ns - done_ns <= WOKEN_WITHIN_NS).then_some(part)
}
