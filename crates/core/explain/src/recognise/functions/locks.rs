//! The lock that was held while the wake-up was late, if calls and returns were recorded.
//!
//! A lock has no name in a record, so it is named after the function that took it. Of several locks of one thread, the
//! last one taken is released first.

use super::calls::{FRAMES_MAX, depth_of};
use super::per_thread::PerThread;
use crate::read::event::EventKind;
use crate::read::names::Names;
use crate::replay::trace::{CpuActivity, Trace};
use std::collections::HashMap;

const TAKES: [&str; 8] = [
    "_raw_spin_lock",
    "_raw_spin_trylock",
    "_raw_read_lock",
    "_raw_write_lock",
    "rt_spin_lock",
    "rt_spin_trylock",
    "rt_read_lock",
    "rt_write_lock",
];
const GIVES_BACK: [&str; 6] = [
    "_raw_spin_unlock",
    "_raw_read_unlock",
    "_raw_write_unlock",
    "rt_spin_unlock",
    "rt_read_unlock",
    "rt_write_unlock",
];

/// A held lock, named after a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub taker: String,
    pub by: String,
    /// Empty while it is held.
    pub releaser: String,
    pub tid: i32,
    pub start_ns: i64,
    pub end_ns: i64,
}

impl Held {
    /// Its time between two instants.
    pub fn ns_between(&self, start_ns: i64, end_ns: i64) -> i64 {
        (self.end_ns.min(end_ns) - self.start_ns.max(start_ns)).max(0)
    }
}

/// The lock held longest between due and seen on a CPU; `None` without a call graph, or without a lock.
pub fn longest(activity: &CpuActivity, trace: &Trace) -> Option<Held> {
    let window = trace.window;
    let during = |held: &Held| held.ns_between(window.due_ns, window.seen_ns);
    let found = all(activity, &trace.names, window.seen_ns);
    found.into_iter().filter(|held| during(held) > 0).max_by_key(|held| (during(held), -held.start_ns))
}

/// Every lock that was taken; those that are never released end at `until_ns`.
fn all(activity: &CpuActivity, names: &Names, until_ns: i64) -> Vec<Held> {
    let mut callers: PerThread<Vec<u64>> = PerThread::default();
    let starts_with = |name: &str, any: &[&str]| any.iter().any(|start| name.starts_with(start));
    let about_locks = |name: &str| starts_with(name, &TAKES) || starts_with(name, &GIVES_BACK);
    let of_locks: Vec<bool> = names.functions().names().map(|name| name.is_some_and(about_locks)).collect();
    let mut open: HashMap<i32, Vec<Held>> = HashMap::new();
    let mut found = Vec::new();
    for event in &activity.events {
        if let EventKind::Switch { prev, next, .. } = event.what
            && let Some(held) = open.entry(prev).or_default().pop()
        {
            // The next thread inherits the lock of the run queue, and releases it.
            open.entry(next).or_default().push(held);
        }
        let EventKind::GraphEntry { function, depth } = event.what else { continue };
        let depth = depth_of(depth).min(FRAMES_MAX);
        let calls = callers.of(event.tid);
        calls.resize(depth, 0);
        calls.push(function);
        let number = names.functions().number(function);
        if !number.is_some_and(|number| of_locks[number as usize]) {
            continue;
        }
        let Some(name) = names.function_known(function) else { continue };
        let caller = depth.checked_sub(1).and_then(|above| calls.get(above));
        let caller = || caller.map_or_else(String::new, |caller| names.function(*caller));
        if starts_with(name, &TAKES) {
            let held = Held {
                taker: caller(),
                by: name.to_owned(),
                releaser: String::new(),
                tid: event.tid,
                start_ns: event.ts_ns,
                end_ns: until_ns,
            };
            open.entry(event.tid).or_default().push(held);
        } else if starts_with(name, &GIVES_BACK)
            && let Some(held) = open.entry(event.tid).or_default().pop()
        {
            found.push(Held { releaser: caller(), end_ns: event.ts_ns, ..held });
        }
    }
    found.extend(open.into_values().flatten());
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::event::Event;

    #[test]
    fn the_lock_taken_last_is_given_back_first_and_called_by_its_taker() {
        let mut names = Names::default();
        let known = [
            (1, "release"),
            (2, "_raw_spin_lock_irqsave"),
            (3, "_raw_spin_lock"),
            (4, "_raw_spin_unlock"),
            (5, "inner"),
        ];
        known.iter().for_each(|(address, name)| names.name_function(*address, name));
        let entry = |ts_ns, function, depth| Event {
            ts_ns,
            cpu: 0,
            tid: 7,
            flags: 0,
            depth: 0,
            what: EventKind::GraphEntry { function, depth },
            id: 0,
            payload: &[],
        };
        let events = vec![entry(1, 1, 0), entry(10, 2, 1), entry(20, 5, 1), entry(25, 3, 2), entry(30, 4, 2)];
        let activity = CpuActivity { events, ..CpuActivity::default() };
        let held = |taker: &str, by: &str, releaser: &str, start_ns, end_ns| Held {
            taker: taker.into(),
            by: by.into(),
            releaser: releaser.into(),
            tid: 7,
            start_ns,
            end_ns,
        };
        let expected =
            [held("inner", "_raw_spin_lock", "inner", 25, 30), held("release", "_raw_spin_lock_irqsave", "", 10, 90)];
        assert_eq!(all(&activity, &names, 90), expected);
    }
}
