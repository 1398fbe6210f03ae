//! Derives samples of the watched threads from the kernel's events of timers, wake-ups and switches.
//!
//! Driven by events alone, in chronological order; it does no I/O. The pattern of names and the set of relevant threads
//! are kept here as well, because forks and renames are events, too.

use crate::by_tid::ByTid;
use crate::pattern::Pattern;
use crate::thread_events::{Comm, ThreadEvent, TimedEvent, name_of};
use crate::timer_functions::TimerFunctions;
use archive::watched::WatchedKind;
use std::collections::BTreeMap;
use std::ops::Range;

/// Longer than any uptime: an expiry that far ahead belongs to a clock that counts from 1970.
const UPTIME_NS_MAX: i64 = 1 << 59;
/// Timers remembered per thread; old timer file descriptors leave more.
const TIMERS_MAX: usize = 64;

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
    cpu: u32,
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
    /// Where it ran last.
    cpu: Option<u32>,
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
    threads: ByTid<Thread>,
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
            threads: ByTid::default(),
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

    /// The samples that were under way at an instant, each as if it had ended then: the recording ends there.
    pub fn under_way_at(&self, now_ns: i64) -> Vec<Finished> {
        let living = self.threads.iter().filter(|(_, thread)| !thread.ended && self.wanted(thread));
        living.filter_map(|(tid, thread)| thread.under_way_at(*tid, now_ns)).collect()
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
            && let Some(thread) =
                self.threads.get_mut(&tid).filter(|thread| !thread.running && thread.was_to_wake(ts_ns))
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
            ThreadEvent::Waking { by, .. } if by.is_some() && by == self.releaser => {}
            ThreadEvent::Waking { tid, .. } => self.wake(tid, ts_ns, cpu, finished),
            ThreadEvent::Switch { prev, next, next_comm, .. } => {
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
        // A thread sleeps once at a time. The kernel may have the timers of two sleeps at different addresses of the stack.
        thread.timers.retain(|known| known.timer != timer && !(sleep && known.sleep));
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
            thread.woken = Some(Woken { ts_ns, timer: due, cpu });
        } else if due.is_some() {
            // Its timer expired before it went to sleep: it is already running.
            thread.woken = Some(Woken { ts_ns, timer: due, cpu });
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

    /// It was woken, or its sleep was over: the kernel may have recorded neither the wake-up nor the switch.
    fn was_to_wake(&self, ts_ns: i64) -> bool {
        self.woken.is_some() || self.timers.iter().any(|timer| timer.sleep && timer.due_ns <= ts_ns)
    }

    /// It is running, but the kernel did not record when it was switched in.
    fn ran_unseen(&mut self) {
        self.running = true;
        self.woken = None;
        self.timers.retain(|timer| !timer.sleep);
    }

    /// It waits for the CPU, for a timer that is over, or it works after a timer woke it.
    fn under_way_at(&self, tid: i32, now_ns: i64) -> Option<Finished> {
        let previous_seen_ns = self.previous_seen_ns;
        let of =
            |kind, due_ns, cpu| Finished { tid, kind, cpu, due_ns, seen_ns: now_ns, previous_seen_ns, late_arm: false };
        if let Some(woken) = self.woken {
            let (kind, due_ns) =
                woken.timer.map_or((WatchedKind::Woken, woken.ts_ns), |timer| (WatchedKind::Timer, timer.due_ns));
            return Some(of(kind, due_ns, self.cpu.unwrap_or(woken.cpu))).filter(|sample| sample.due_ns <= now_ns);
        }
        let over = self.timers.iter().filter(|timer| timer.sleep && !self.running && timer.due_ns <= now_ns);
        let over = over.min_by_key(|timer| timer.due_ns).and_then(|timer| Some((timer.due_ns, self.cpu?)));
        let sleeps = over.map(|(due_ns, cpu)| of(WatchedKind::Timer, due_ns, cpu));
        sleeps.or_else(|| self.cycle_since.map(|(since_ns, cpu)| of(WatchedKind::Cycle, since_ns, cpu)))
    }

    fn given_the_cpu(&mut self, tid: i32, ts_ns: i64, cpu: u32, finished: &mut Vec<Finished>) {
        let Some(woken) = self.woken.take() else { return };
        // The end of a sleep also ends its timer.
        self.timers.retain(|timer| !timer.sleep);
        let previous_seen_ns = self.previous_seen_ns.replace(ts_ns);
        let seen_ns = ts_ns;
        self.cpu = Some(cpu);
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
mod tests;
