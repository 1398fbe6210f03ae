//! When a measuring thread slept, what woke it, and when it or one that completes requests was runnable without a CPU.

use crate::read::{Recorded, What};
use std::collections::{BTreeMap, BTreeSet};

/// One sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sleep {
    pub from_ns: i64,
    /// It is woken; `None` where the trace does not show it.
    pub woken_ns: Option<i64>,
    /// It has a CPU again.
    pub until_ns: i64,
    /// The thread that woke it, unless an interrupt did.
    pub waker: Option<i32>,
    /// The kernel slowed the thread down with it, because too many pages were dirty.
    pub throttled: bool,
}

/// The sleeps of each thread, ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Threads {
    pub sleeps: BTreeMap<i32, Vec<Sleep>>,
    /// When each was runnable and another thread had its CPU, after it had run.
    pub preempted: BTreeMap<i32, Vec<(i64, i64)>>,
    pub reclaims: BTreeMap<i32, Vec<(i64, i64)>>,
    /// When each had a plug with requests in it.
    pub plugs: BTreeMap<i32, Vec<(i64, i64)>>,
}

/// The sleeps of the measuring threads, and of the threads that complete requests.
pub fn of(recorded: &Recorded, tids: &[i32], completers: &BTreeSet<i32>) -> Threads {
    let mut threads = Threads::default();
    let mut open: BTreeMap<i32, Sleep> = BTreeMap::new();
    let mut preempted: BTreeMap<i32, i64> = BTreeMap::new();
    let mut reclaims: BTreeMap<i32, i64> = BTreeMap::new();
    let mut plugs: BTreeMap<i32, i64> = BTreeMap::new();
    let mut throttled: BTreeSet<i32> = BTreeSet::new();
    for event in &recorded.events {
        match event.what {
            What::Switch { prev, next, waits } => {
                if let Some(mut sleep) = open.remove(&next) {
                    sleep.until_ns = event.at_ns;
                    threads.sleeps.entry(next).or_default().push(sleep);
                }
                if let Some(from_ns) = preempted.remove(&next) {
                    threads.preempted.entry(next).or_default().push((from_ns, event.at_ns));
                }
                if !tids.contains(&prev) && !completers.contains(&prev) {
                    continue;
                }
                if waits {
                    let throttled = throttled.remove(&prev);
                    let sleep =
                        Sleep { from_ns: event.at_ns, woken_ns: None, until_ns: event.at_ns, waker: None, throttled };
                    open.insert(prev, sleep);
                } else {
                    preempted.insert(prev, event.at_ns);
                }
            }
            What::Waking { tid } => {
                if let Some(sleep) = open.get_mut(&tid).filter(|sleep| sleep.woken_ns.is_none()) {
                    sleep.woken_ns = Some(event.at_ns);
                    sleep.waker = (!event.in_interrupt && event.tid > 0).then_some(event.tid);
                }
            }
            What::ReclaimBegin => {
                reclaims.insert(event.tid, event.at_ns);
            }
            What::ReclaimEnd => {
                if let Some(from_ns) = reclaims.remove(&event.tid) {
                    threads.reclaims.entry(event.tid).or_default().push((from_ns, event.at_ns));
                }
            }
            // What is in an earlier plug stays there.
            What::Plug => {
                plugs.entry(event.tid).or_insert(event.at_ns);
            }
            What::Unplug => {
                if let Some(from_ns) = plugs.remove(&event.tid) {
                    threads.plugs.entry(event.tid).or_default().push((from_ns, event.at_ns));
                }
            }
            What::DirtyThrottling => {
                throttled.insert(event.tid);
            }
            // It did not sleep after all.
            What::Queue(_) => {
                throttled.remove(&event.tid);
            }
            _ => {}
        }
    }
    threads
}
