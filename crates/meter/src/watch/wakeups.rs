//! Derives samples of the watched threads from the kernel's events of timers, wake-ups and switches.
//!
//! Driven by events alone, in chronological order; it does no I/O. The pattern of names and the set of relevant threads
//! are kept here as well, because forks and renames are events, too.

use super::pattern::Pattern;
use super::thread_events::{Comm, ThreadEvent, TimedEvent, name_of};
use archive::watched::WatchedKind;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Longer than any uptime: an expiry that far ahead belongs to a clock that counts from 1970.
const UPTIME_NS_MAX: i64 = 1 << 59;
/// Timers remembered per thread; more are those of old timer file descriptors.
const TIMERS_MAX: usize = 64;

/// Addresses of the kernel functions that end a sleep.
#[derive(Debug, Clone, Copy, Default)]
pub struct TimerFunctions {
    /// That of sleeping system calls and of waits with a time-out: such a timer ends with its sleep.
    pub sleep: u64,
    /// Those of timer file descriptors and of POSIX timers, which outlive the wait for them; 0 if unknown.
    pub timer_file: u64,
    pub posix_timer: u64,
    /// The addresses are hidden; the kernel filters timers of sleeps by name.
    pub by_name: bool,
}

impl TimerFunctions {
    fn wakes(&self, function: u64) -> bool {
        self.by_name || (function != 0 && [self.sleep, self.timer_file, self.posix_timer].contains(&function))
    }

    fn sleeps(&self, function: u64) -> bool {
        self.by_name || function == self.sleep
    }
}

/// A finished sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    pub tid: i32,
    pub kind: WatchedKind,
    pub cpu: u32,
    pub due_ns: i64,
    pub seen_ns: i64,
    /// When the thread was switched in at the previous wake-up.
    pub previous_seen_ns: Option<i64>,
    pub late_arm: bool,
}

#[derive(Debug, Clone, Copy)]
struct Timer {
    timer: u64,
    due_ns: i64,
    armed_ns: i64,
    sleep: bool,
}

#[derive(Debug, Clone, Copy)]
struct Woken {
    ts_ns: i64,
    timer: Option<Timer>,
}

/// A watched thread.
#[derive(Debug, Default)]
pub struct Thread {
    pub comm: Comm,
    /// Largest difference between the requested and the latest allowed expiry of its timers.
    pub slack_ns_max: i64,
    pub ended: bool,
    running: bool,
    timers: Vec<Timer>,
    woken: Option<Woken>,
    /// When it was switched in after a timer woke it, until it sets its next timer.
    cycle_since: Option<(i64, u32)>,
    previous_seen_ns: Option<i64>,
}

impl Thread {
    pub fn name(&self) -> String {
        name_of(&self.comm)
    }
}

/// All followed threads.
#[derive(Debug)]
pub struct Wakeups {
    pattern: Option<Pattern>,
    functions: TimerFunctions,
    /// CLOCK_REALTIME minus CLOCK_MONOTONIC.
    pub realtime_offset_ns: i64,
    /// Since when returns from system calls are recorded. The first return after this instant may belong to a later
    /// call than the one in which a thread slept before it.
    pub returns_since_ns: i64,
    /// The thread that releases a held command and asks it to end: these wake-ups are not the command's own.
    pub releaser: Option<i32>,
    threads: HashMap<i32, Thread>,
    /// Lost events, by CPU.
    pub lost: BTreeMap<u32, u64>,
    /// Wake-ups after which the kernel did not record when the thread was switched in.
    pub unseen: u64,
    /// Threads created by forks since the last call.
    pub born: Vec<i32>,
}

impl Wakeups {
    /// `pattern`: only threads with matching names give samples; `None` for all.
    pub fn new(pattern: Option<Pattern>, functions: TimerFunctions) -> Self {
        Self {
            pattern,
            functions,
            realtime_offset_ns: 0,
            returns_since_ns: i64::MIN,
            releaser: None,
            threads: HashMap::new(),
            lost: BTreeMap::new(),
            unseen: 0,
            born: Vec::new(),
        }
    }

    /// Follows a thread; harmless if it is already followed.
    pub fn add(&mut self, tid: i32, name: &[u8]) {
        let mut comm = [0; 16];
        let length = name.len().min(15);
        comm[..length].copy_from_slice(&name[..length]);
        self.threads.entry(tid).or_insert_with(|| Thread { comm, ..Thread::default() });
    }

    pub fn knows(&self, tid: i32) -> bool {
        self.threads.get(&tid).is_some_and(|thread| !thread.ended)
    }

    pub fn thread(&self, tid: i32) -> Option<&Thread> {
        self.threads.get(&tid)
    }

    /// Threads that give samples and have not ended.
    pub fn living(&self) -> impl Iterator<Item = i32> + '_ {
        self.threads.iter().filter(|(_, thread)| !thread.ended && self.wanted(thread)).map(|(tid, _)| *tid)
    }

    /// Number of threads that were due in this stretch and have not been switched in since: they have no sample yet.
    pub fn under_way(&self, due: &Range<i64>) -> u64 {
        let late = |thread: &&Thread| !thread.ended && self.wanted(thread) && thread.is_due_in(due);
        self.threads.values().filter(late).count() as u64
    }

    fn wanted(&self, thread: &Thread) -> bool {
        self.pattern
            .as_ref()
            .is_none_or(|pattern| pattern.fits(thread.comm.split(|byte| *byte == 0).next().unwrap_or(b"")))
    }

    /// Processes the next event; finished samples are appended.
    pub fn apply(&mut self, event: &TimedEvent, finished: &mut Vec<Finished>) {
        let TimedEvent { ts_ns, cpu, event } = *event;
        let before = finished.len();
        if let Some(tid) = event.proves_running()
            && let Some(thread) = self.threads.get_mut(&tid).filter(|thread| !thread.running && thread.woken.is_some())
        {
            thread.ran_unseen();
            self.unseen += 1;
        }
        match event {
            ThreadEvent::Arm { tid, timer, function, soft_ns, hard_ns } => {
                if self.functions.wakes(function) {
                    self.arm(tid, timer, self.functions.sleeps(function), soft_ns, hard_ns, ts_ns, cpu, finished);
                }
            }
            ThreadEvent::Waking { by, .. } if self.releaser == Some(by) => {}
            ThreadEvent::Waking { tid, .. } => self.wake(tid, ts_ns, cpu, finished),
            ThreadEvent::Switch { prev, next, next_comm } => {
                if let Some(thread) = self.threads.get_mut(&prev) {
                    thread.running = false;
                }
                if let Some(thread) = self.threads.get_mut(&next) {
                    thread.comm = next_comm;
                    thread.running = true;
                    thread.given_the_cpu(next, ts_ns, cpu, finished);
                }
            }
            ThreadEvent::Fork { parent, child } => {
                if let Some(comm) = self.threads.get(&parent).map(|thread| thread.comm) {
                    self.threads.insert(child, Thread { comm, ..Thread::default() });
                    self.born.push(child);
                }
            }
            ThreadEvent::Exit { tid } => {
                if let Some(thread) = self.threads.get_mut(&tid) {
                    *thread = Thread {
                        comm: thread.comm,
                        slack_ns_max: thread.slack_ns_max,
                        ended: true,
                        ..Thread::default()
                    };
                }
            }
            ThreadEvent::Rename { tid, comm } => {
                if let Some(thread) = self.threads.get_mut(&tid) {
                    thread.comm = comm;
                }
            }
            ThreadEvent::Returned { tid } => {
                let since_ns = self.returns_since_ns;
                if let Some(thread) = self.threads.get_mut(&tid).filter(|thread| !thread.running) {
                    if thread.woken.is_some_and(|woken| woken.ts_ns < since_ns) {
                        thread.ran_unseen();
                        self.unseen += 1;
                    } else {
                        thread.running = true;
                        thread.given_the_cpu(tid, ts_ns, cpu, finished);
                    }
                }
            }
            ThreadEvent::Lost { count } => self.lose(cpu, count),
        }
        if self.pattern.is_some() {
            let mut at = before;
            while at < finished.len() {
                match self.threads.get(&finished[at].tid).is_some_and(|thread| self.wanted(thread)) {
                    true => at += 1,
                    false => drop(finished.remove(at)),
                }
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn arm(
        &mut self,
        tid: i32,
        timer: u64,
        sleep: bool,
        soft_ns: i64,
        hard_ns: i64,
        ts_ns: i64,
        cpu: u32,
        finished: &mut Vec<Finished>,
    ) {
        let due_ns = if soft_ns > UPTIME_NS_MAX { soft_ns - self.realtime_offset_ns } else { soft_ns };
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        thread.slack_ns_max = thread.slack_ns_max.max(hard_ns.saturating_sub(soft_ns));
        if let Some((since_ns, _)) = thread.cycle_since.take() {
            let previous_seen_ns = thread.previous_seen_ns;
            let kind = WatchedKind::Cycle;
            finished.push(Finished {
                tid,
                kind,
                cpu,
                due_ns: since_ns,
                seen_ns: ts_ns,
                previous_seen_ns,
                late_arm: false,
            });
        }
        thread.timers.retain(|known| known.timer != timer);
        if thread.timers.len() < TIMERS_MAX {
            thread.timers.push(Timer { timer, due_ns, armed_ns: ts_ns, sleep });
        }
    }

    /// A thread becomes runnable. If one of its timers was due by then, it counts as the awaited one, whatever woke the
    /// thread first.
    fn wake(&mut self, tid: i32, ts_ns: i64, cpu: u32, finished: &mut Vec<Finished>) {
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        let due = thread.timers.iter().filter(|timer| timer.due_ns <= ts_ns).min_by_key(|timer| timer.due_ns).copied();
        thread.timers.retain(|timer| timer.due_ns > ts_ns);
        if !thread.running {
            thread.woken = Some(Woken { ts_ns, timer: due });
        } else if due.is_some() {
            // Its timer expired before it went to sleep: it is already running.
            thread.woken = Some(Woken { ts_ns, timer: due });
            thread.given_the_cpu(tid, ts_ns, cpu, finished);
        }
    }

    /// After a gap it is unknown which threads run and what they wait for.
    fn lose(&mut self, cpu: u32, count: u64) {
        *self.lost.entry(cpu).or_default() += count;
        for thread in self.threads.values_mut() {
            thread.timers.clear();
            thread.woken = None;
            thread.cycle_since = None;
            thread.previous_seen_ns = None;
            thread.running = false;
        }
    }
}

impl Thread {
    fn is_due_in(&self, due: &Range<i64>) -> bool {
        let woken = self.woken.map(|woken| woken.timer.map_or(woken.ts_ns, |timer| timer.due_ns));
        // Only a timer of a sleep proves that its thread still waits for it.
        let sleeps = self.timers.iter().filter(|timer| timer.sleep && !self.running).map(|timer| timer.due_ns);
        woken.into_iter().chain(sleeps).any(|due_ns| due.contains(&due_ns))
    }

    /// It is running, but the kernel did not record when it was switched in.
    fn ran_unseen(&mut self) {
        self.running = true;
        self.woken = None;
        self.timers.retain(|timer| !timer.sleep);
    }

    fn given_the_cpu(&mut self, tid: i32, ts_ns: i64, cpu: u32, finished: &mut Vec<Finished>) {
        let Some(woken) = self.woken.take() else { return };
        // The end of a sleep also ends its timer.
        self.timers.retain(|timer| !timer.sleep);
        let previous_seen_ns = self.previous_seen_ns.replace(ts_ns);
        let seen_ns = ts_ns;
        finished.push(match woken.timer {
            Some(Timer { due_ns, armed_ns, .. }) => {
                self.cycle_since = Some((ts_ns, cpu));
                let late_arm = armed_ns > due_ns;
                Finished { tid, kind: WatchedKind::Timer, cpu, due_ns, seen_ns, previous_seen_ns, late_arm }
            }
            None => {
                let due_ns = woken.ts_ns;
                Finished { tid, kind: WatchedKind::Woken, cpu, due_ns, seen_ns, previous_seen_ns, late_arm: false }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FUNCTIONS: TimerFunctions = TimerFunctions { sleep: 1, timer_file: 2, posix_timer: 3, by_name: false };
    const ME: i32 = 10;

    struct Story {
        wakeups: Wakeups,
        finished: Vec<Finished>,
    }

    impl Story {
        fn new(pattern: Option<&str>) -> Self {
            let mut wakeups = Wakeups::new(pattern.map(|text| Pattern::new(text).unwrap()), FUNCTIONS);
            wakeups.add(ME, b"loop");
            Self { wakeups, finished: Vec::new() }
        }

        fn at(&mut self, ts_ns: i64, event: ThreadEvent) -> &mut Self {
            self.wakeups.apply(&TimedEvent { ts_ns, cpu: 1, event }, &mut self.finished);
            self
        }

        fn arm(&mut self, ts_ns: i64, function: u64, due_ns: i64) -> &mut Self {
            self.at(
                ts_ns,
                ThreadEvent::Arm { tid: ME, timer: 0x100 + function, function, soft_ns: due_ns, hard_ns: due_ns + 50 },
            )
        }

        fn leaves(&mut self, ts_ns: i64) -> &mut Self {
            self.at(ts_ns, ThreadEvent::Switch { prev: ME, next: 0, next_comm: comm(b"swapper/1") })
        }

        fn wakes(&mut self, ts_ns: i64) -> &mut Self {
            self.at(ts_ns, ThreadEvent::Waking { tid: ME, by: 0 })
        }

        fn runs(&mut self, ts_ns: i64) -> &mut Self {
            self.at(ts_ns, ThreadEvent::Switch { prev: 0, next: ME, next_comm: comm(b"loop") })
        }

        fn samples(&self) -> Vec<(WatchedKind, i64, i64)> {
            self.finished.iter().map(|one| (one.kind, one.due_ns, one.seen_ns)).collect()
        }
    }

    fn comm(name: &[u8]) -> Comm {
        let mut comm = [0; 16];
        comm[..name.len()].copy_from_slice(name);
        comm
    }

    use WatchedKind::{Cycle, Timer as ByTimer, Woken as ByOther};

    #[test]
    fn a_sleep_gives_a_wake_up_and_then_a_cycle() {
        let mut story = Story::new(None);
        story.arm(100, 1, 1000).leaves(110).wakes(1005).runs(1020).arm(1500, 1, 2000).leaves(1510);
        assert_eq!(story.samples(), [(ByTimer, 1000, 1020), (Cycle, 1020, 1500)]);
        assert_eq!(story.wakeups.thread(ME).unwrap().slack_ns_max, 50);
    }

    #[test]
    fn a_cycle_that_overran_is_a_late_arm_without_a_switch() {
        let mut story = Story::new(None);
        story.arm(100, 1, 1000).leaves(110).wakes(1005).runs(1020).arm(2500, 1, 2000).wakes(2502);
        assert_eq!(story.samples(), [(ByTimer, 1000, 1020), (Cycle, 1020, 2500), (ByTimer, 2000, 2502)]);
        assert!(story.finished[2].late_arm && !story.finished[0].late_arm);
        assert_eq!(story.finished[2].previous_seen_ns, Some(1020));
    }

    #[test]
    fn what_is_woken_before_its_time_out_was_woken_by_something_else() {
        let mut story = Story::new(None);
        story.arm(100, 1, 9000).leaves(110).wakes(500).runs(520);
        assert_eq!(story.samples(), [(ByOther, 500, 520)]);
        // The time-out ended with its wait and must not count later.
        story.leaves(600).wakes(9500).runs(9510);
        assert_eq!(story.samples()[1], (ByOther, 9500, 9510));
    }

    #[test]
    fn a_wake_up_by_the_release_of_a_held_command_is_no_sample() {
        let mut story = Story::new(None);
        story.wakeups.releaser = Some(7);
        story.at(100, ThreadEvent::Waking { tid: ME, by: 7 }).runs(7_000_000);
        assert_eq!(story.samples(), []);
        story.arm(7_000_100, 1, 7_001_000).leaves(7_000_110).wakes(7_001_005).runs(7_001_020);
        assert_eq!(story.samples(), [(ByTimer, 7_001_000, 7_001_020)]);
    }

    #[test]
    fn a_timer_file_outlives_other_waits() {
        let mut story = Story::new(None);
        story.arm(100, 2, 5000).leaves(110).wakes(500).runs(520).leaves(600).wakes(5004).runs(5010);
        assert_eq!(story.samples(), [(ByOther, 500, 520), (ByTimer, 5000, 5010)]);
    }

    #[test]
    fn a_switch_that_is_not_recorded_is_counted_and_a_return_stands_in_for_it() {
        let mut story = Story::new(None);
        story.arm(100, 1, 1000).leaves(110).wakes(1005).arm(1500, 1, 2000);
        assert_eq!((story.samples().len(), story.wakeups.unseen), (0, 1));
        story
            .leaves(1510)
            .wakes(2003)
            .at(2009, ThreadEvent::Returned { tid: ME })
            .at(2020, ThreadEvent::Returned { tid: ME });
        story.arm(2500, 1, 3000);
        assert_eq!(story.samples(), [(ByTimer, 2000, 2009), (Cycle, 2009, 2500)]);
        assert_eq!(story.wakeups.unseen, 1);
    }

    #[test]
    fn the_first_return_that_is_recorded_may_be_one_of_a_later_call() {
        let mut story = Story::new(None);
        story.arm(100, 1, 1000).leaves(110).wakes(1005);
        story.wakeups.returns_since_ns = 1100;
        story.at(1400, ThreadEvent::Returned { tid: ME }).arm(1500, 1, 2000);
        assert_eq!((story.samples(), story.wakeups.unseen), (Vec::new(), 1));
        story.leaves(1510).wakes(2003).at(2009, ThreadEvent::Returned { tid: ME });
        assert_eq!(story.samples(), [(ByTimer, 2000, 2009)]);
    }

    #[test]
    fn a_wake_up_that_was_due_and_has_not_come_is_under_way() {
        let mut story = Story::new(None);
        story.arm(100, 1, 1000).leaves(110);
        let under_way = |story: &Story, from_ns, until_ns| story.wakeups.under_way(&(from_ns..until_ns));
        assert_eq!([under_way(&story, 0, 1000), under_way(&story, 0, 1001), under_way(&story, 1001, 2000)], [0, 1, 0]);
        story.wakes(1005);
        assert_eq!(under_way(&story, 0, 1001), 1);
        story.runs(1020);
        assert_eq!(under_way(&story, 0, 2000), 0);
    }

    #[test]
    fn being_preempted_is_no_wake_up() {
        let mut story = Story::new(None);
        story.runs(100).leaves(200).runs(300);
        assert_eq!(story.samples(), []);
    }

    #[test]
    fn instants_since_1970_become_monotonic() {
        let mut story = Story::new(None);
        story.wakeups.realtime_offset_ns = 1_700_000_000_000_000_000;
        story.arm(100, 1, 1_700_000_000_000_001_000).leaves(110).wakes(1001).runs(1002);
        assert_eq!(story.samples(), [(ByTimer, 1000, 1002)]);
    }

    #[test]
    fn children_are_followed_and_names_choose_among_them() {
        let mut story = Story::new(Some("work*"));
        story.at(10, ThreadEvent::Fork { parent: ME, child: 11 });
        story.at(20, ThreadEvent::Waking { tid: 11, by: ME });
        story.at(30, ThreadEvent::Switch { prev: 0, next: 11, next_comm: comm(b"worker") });
        story.leaves(40).wakes(50).runs(60);
        assert_eq!(
            story.finished.iter().map(|one| one.tid).collect::<Vec<_>>(),
            [11],
            "the loop does not fit the pattern"
        );
        story.at(70, ThreadEvent::Exit { tid: 11 });
        assert!(!story.wakeups.knows(11));
        assert_eq!(story.wakeups.living().count(), 0);
    }

    #[test]
    fn after_a_hole_nothing_is_made_up() {
        let mut story = Story::new(None);
        story.arm(100, 1, 1000).leaves(110).at(900, ThreadEvent::Lost { count: 7 }).runs(1020).arm(1500, 1, 2000);
        assert_eq!(story.samples(), []);
        assert_eq!(story.wakeups.lost.get(&1), Some(&7));
    }

    #[test]
    fn timers_of_other_functions_are_none_of_its_own() {
        let mut story = Story::new(None);
        story.arm(100, 99, 1000).leaves(110).wakes(1005).runs(1020);
        assert_eq!(story.samples(), [(ByOther, 1005, 1020)]);
    }
}
