//! The gaps between the wake-ups of measuring threads, in which the meter's other threads work.
//!
//! Where every CPU is measured, those threads run on measured CPUs. A kernel without preemption lets a wake-up wait for
//! their system calls, and a hypervisor that takes the CPU away from them takes it away from the next wake-up as well.
//! So they work in pieces, and begin a piece only if no wake-up is due soon on their CPU.

use crate::kernel::clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Duration;

/// A piece of work is shorter than this, so none begins later before a wake-up.
const NEAR_NS: i64 = 200_000;
/// Time for the measuring thread to wake and to go to sleep again.
const AFTER_NS: i64 = 100_000;
/// Shorter intervals have no gap that is worth waiting for.
const INTERVAL_NS_MIN: i64 = 100_000;
/// Work that found no gap this often begins all the same: a measuring thread that hangs does not stop it.
const TRIES_MAX: u32 = 8;
/// Items of a longer piece of work between two looks at the clock.
const ITEMS: usize = 16;

/// When a measuring thread is to wake next. The thread writes it, others read it.
#[derive(Debug)]
pub struct NextDue(AtomicI64);

impl Default for NextDue {
    /// Never.
    fn default() -> Self {
        Self(AtomicI64::new(i64::MAX))
    }
}

impl NextDue {
    #[inline]
    pub fn set(&self, due_ns: i64) {
        self.0.store(due_ns, Relaxed);
    }

    pub fn set_never(&self) {
        self.set(i64::MAX);
    }
}

/// The gaps of a run; without any threads, all time is one.
#[derive(Debug, Clone, Default)]
pub struct Gaps {
    interval_ns: i64,
    /// Each with the CPU to which its thread is bound.
    threads: Vec<(u32, Arc<NextDue>)>,
}

impl Gaps {
    /// The gaps between timers of this interval.
    pub fn between(threads: Vec<(u32, Arc<NextDue>)>, interval_ns: i64) -> Self {
        if interval_ns < INTERVAL_NS_MIN { Self::default() } else { Self { interval_ns, threads } }
    }

    /// Returns when no wake-up is due soon on this CPU.
    pub fn wait(&self) {
        for _ in 0..TRIES_MAX {
            let now_ns = clock::monotonic_ns();
            match self.due_ns_here().and_then(|due_ns| self.begins_at(due_ns, now_ns)) {
                Some(instant_ns) => clock::sleep_until_ns(instant_ns),
                None => return,
            }
        }
    }

    /// The items, with a wait for a gap before each few.
    pub fn paced<I: Iterator>(&self, items: I) -> impl Iterator<Item = I::Item> {
        items.enumerate().map(|(at, item)| {
            if at.is_multiple_of(ITEMS) {
                self.wait();
            }
            item
        })
    }

    /// About as long as asked, ending in a gap.
    pub fn timeout(&self, asked: Duration) -> Duration {
        let now_ns = clock::monotonic_ns();
        let asked_ns = asked.as_nanos() as i64;
        let end_ns = self.due_ns_here().map_or(asked_ns, |due_ns| self.end_in_gap(due_ns, now_ns, asked_ns) - now_ns);
        Duration::from_nanos(end_ns.max(0) as u64)
    }

    fn due_ns_here(&self) -> Option<i64> {
        if self.threads.is_empty() {
            return None;
        }
        let here = rustix::thread::sched_getcpu() as u32;
        let dues = self.threads.iter().filter(|(cpu, _)| *cpu == here).map(|(_, due)| due.0.load(Relaxed));
        dues.min().filter(|due_ns| *due_ns != i64::MAX)
    }

    /// When the next gap begins, unless this is one. A wake-up that was due is still on its way.
    fn begins_at(&self, due_ns: i64, now_ns: i64) -> Option<i64> {
        let near_ns = NEAR_NS.min(self.interval_ns / 2);
        (due_ns.saturating_sub(now_ns) <= near_ns).then(|| due_ns.max(now_ns) + self.after_ns())
    }

    /// The end of the first gap's beginning after the time has passed.
    fn end_in_gap(&self, due_ns: i64, now_ns: i64, asked_ns: i64) -> i64 {
        let end_ns = now_ns.saturating_add(asked_ns);
        let behind_ns = end_ns.saturating_sub(due_ns.saturating_add(self.after_ns()));
        if behind_ns <= 0 {
            return end_ns;
        }
        let intervals = behind_ns.saturating_add(self.interval_ns - 1) / self.interval_ns;
        due_ns + self.after_ns() + intervals * self.interval_ns
    }

    fn after_ns(&self) -> i64 {
        AFTER_NS.min(self.interval_ns / 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(interval_ns: i64) -> Gaps {
        Gaps { interval_ns, threads: Vec::new() }
    }

    #[test]
    fn work_begins_far_from_the_next_wake_up_only() {
        let gaps = gaps(1_000_000);
        assert_eq!(gaps.begins_at(5_000_000, 4_100_000), None);
        assert_eq!(gaps.begins_at(5_000_000, 4_850_000), Some(5_100_000), "near");
        assert_eq!(gaps.begins_at(5_000_000, 5_030_000), Some(5_130_000), "the wake-up is late");
    }

    #[test]
    fn a_short_interval_has_short_gaps() {
        let gaps = gaps(200_000);
        assert_eq!(gaps.begins_at(5_000_000, 4_860_000), None);
        assert_eq!(gaps.begins_at(5_000_000, 4_900_000), Some(5_050_000));
    }

    #[test]
    fn a_sleep_ends_in_a_gap() {
        let gaps = gaps(1_000_000);
        assert_eq!(gaps.end_in_gap(5_000_000, 4_500_000, 10_000_000), 15_100_000);
        assert_eq!(gaps.end_in_gap(5_000_000, 4_500_000, 100_000), 4_600_000, "before the next wake-up");
        assert_eq!(gaps.begins_at(16_000_000, 15_100_000), None);
    }

    #[test]
    fn threads_that_hang_or_have_ended_stop_no_work() {
        let due = Arc::new(NextDue::default());
        let every_cpu = (0..1024).map(|cpu| (cpu, due.clone())).collect();
        let gaps = Gaps::between(every_cpu, 1_000_000);
        let since = std::time::Instant::now();
        gaps.wait();
        assert_eq!(gaps.timeout(Duration::from_secs(1)), Duration::from_secs(1));
        assert_eq!(gaps.paced(0..40).count(), 40);
        due.set(0);
        let asleep_ns = i64::from(TRIES_MAX) * AFTER_NS;
        gaps.wait();
        assert!(since.elapsed().as_nanos() as i64 >= asleep_ns, "it waited for the thread, and went on");
    }
}
