//! Looks for the threads of a request in every process, repeatedly, at the price of the processes that changed.
//!
//! A whole look opens the folder of every process. A guard looks for months: between two whole looks it opens only the folders
//! of processes that are new or have another number of threads, at that look and at the next one, since a program takes its name and its control
//! group after it started.

use super::targets::{self, ThreadFound};
use crate::cadence::Every;
use std::collections::BTreeMap;

/// Finds a thread that ran before under another name, or in another control group.
const GUARD_WHOLE_LOOKS_NS: i64 = 20_000_000_000;

/// The threads of a process at the last look.
struct Known {
    threads: u64,
    /// The look before found as many threads.
    is_settled: bool,
    found: Vec<ThreadFound>,
}

/// The processes at the last look.
pub struct ProcessLooks {
    known: BTreeMap<i32, Known>,
    whole_looks: Every,
}

impl ProcessLooks {
    pub fn of(guard: bool) -> Self {
        Self { known: BTreeMap::new(), whole_looks: Every::new(if guard { GUARD_WHOLE_LOOKS_NS } else { 0 }) }
    }

    /// The threads that `wanted` finds in a process, of every process but this one and its parent.
    pub fn threads(&mut self, now_ns: i64, mut wanted: impl FnMut(i32) -> Vec<ThreadFound>) -> Vec<ThreadFound> {
        let is_whole = self.whole_looks.is_due(now_ns);
        let mut before = std::mem::take(&mut self.known);
        for pid in targets::processes_of_others(std::process::id() as i32) {
            let threads = targets::thread_count(pid);
            let known = match before.remove(&pid) {
                Some(known) if !is_whole && known.is_settled && known.threads == threads => known,
                known => {
                    let is_settled = known.is_some_and(|known| known.threads == threads);
                    Known { threads, is_settled, found: wanted(pid) }
                }
            };
            self.known.insert(pid, known);
        }
        self.known.values().flat_map(|known| known.found.iter().cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    struct Sleeper(Child);

    impl Sleeper {
        fn start() -> Self {
            Self(Command::new("sleep").arg("1000").spawn().unwrap())
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn found(looks: &mut ProcessLooks, now_ns: i64) -> Vec<i32> {
        let sleepers = |pid| targets::threads_of(pid).into_iter().filter(|found| found.name == "sleep").collect();
        looks.threads(now_ns, sleepers).into_iter().map(|found| found.pid).collect()
    }

    fn has(looks: &mut ProcessLooks, now_ns: i64, sleeper: &Sleeper) -> bool {
        found(looks, now_ns).contains(&(sleeper.0.id() as i32))
    }

    #[test]
    fn processes_that_start_and_end_between_whole_looks_are_seen() {
        let mut looks = ProcessLooks::of(true);
        let first = Sleeper::start();
        let begun = std::time::Instant::now();
        while !has(&mut looks, 0, &first) {
            assert!(begun.elapsed().as_secs() < 60);
        }
        let second = Sleeper::start();
        // Until it runs its program it has the name of this one: a look at a new process is followed by another.
        while std::fs::read_to_string(format!("/proc/{}/comm", second.0.id())).unwrap().trim() != "sleep" {}
        assert!(has(&mut looks, 1, &second) && has(&mut looks, 2, &second) && has(&mut looks, 3, &first));
        let pid = second.0.id() as i32;
        drop(second);
        assert!(!found(&mut looks, 4).contains(&pid));
        assert!(has(&mut looks, GUARD_WHOLE_LOOKS_NS + 5, &first));
    }
}
