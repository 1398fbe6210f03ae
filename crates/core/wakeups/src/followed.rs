//! The followed threads with the series of their samples.

use crate::chain_watch::ChainWatch;
pub use crate::recent::Late;
use crate::recent::Recent;
use crate::series::{Series, Terms};
use crate::thread_events::TimedEvent;
use crate::wakeups::{Finished, Wakeups};
use archive::sample::Sample;
use archive::spike::SpikeReason;
use archive::watched::WatchedKind;
use archive::watched::chain::MissedChain;
use std::collections::HashMap;
use std::ops::Range;

/// When a run is stopped early, a wake-up later than this counts as lost rather than pending.
const UNDER_WAY_NS: i64 = 100_000_000;

/// A sample with its place in the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Number of its series.
    pub thread: u32,
    pub sample: Sample,
}

/// Series beyond which a new thread continues one of an ended thread of the same name: a program that restarts for weeks has
/// any number of threads.
const SERIES_MAX: usize = 2000;

/// A snapshot is taken within this time after its spike.
const SNAPSHOT_NS: i64 = 1_000_000_000;

/// State of all followed threads.
#[derive(Debug)]
pub struct Followed {
    pub wakeups: Wakeups,
    /// By number.
    pub series: Vec<Series>,
    numbers: HashMap<(i32, WatchedKind), usize>,
    terms: Terms,
    pub recent: Recent,
    pub chains: Vec<ChainWatch>,
    /// Deadlines of chains that were missed and that nobody took yet.
    pub missed_chains: Vec<MissedChain>,
}

impl Followed {
    pub fn new(wakeups: Wakeups, terms: Terms) -> Self {
        Self {
            wakeups,
            series: Vec::new(),
            numbers: HashMap::new(),
            terms,
            recent: Recent::default(),
            chains: Vec::new(),
            missed_chains: Vec::new(),
        }
    }

    /// Processes the next event of the threads; finished samples are appended.
    pub fn apply(&mut self, event: &TimedEvent, finished: &mut Vec<Finished>) {
        let before = finished.len();
        self.wakeups.apply(event, finished);
        for chain in &mut self.chains {
            chain.apply(event, &self.wakeups, &mut self.missed_chains);
            let due = self.terms.count_from_ns..self.terms.end_ns;
            for woken in finished[before..].iter().filter(|woken| due.contains(&woken.due_ns)) {
                chain.begin(woken, &self.wakeups, &mut self.missed_chains);
            }
        }
    }

    /// All events before this instant have been processed.
    pub fn expire_chains(&mut self, now_ns: i64) {
        self.chains.iter_mut().for_each(|chain| chain.expire(now_ns, &mut self.missed_chains));
    }

    /// From now on, wake-ups that are due in this span count.
    pub fn count_in(&mut self, due: Range<i64>) {
        (self.terms.count_from_ns, self.terms.end_ns) = (due.start, due.end);
    }

    /// Wake-ups that were due in the run and had not occurred when following ended.
    pub fn unfinished(&self, ended_ns: i64) -> u64 {
        // A run that was stopped early ended in the middle of wake-ups.
        let until_ns =
            if ended_ns < self.terms.end_ns { ended_ns.saturating_sub(UNDER_WAY_NS) } else { self.terms.end_ns };
        self.wakeups.under_way(&(self.terms.count_from_ns..until_ns))
    }

    /// Counts a sample, and returns it if it is to be kept with its trace.
    pub fn book(&mut self, finished: &Finished) -> Option<Late> {
        let (Counted { thread, sample }, reason) = self.counted(finished)?;
        let Finished { tid, kind, previous_seen_ns, .. } = *finished;
        let late = |reason| Late { thread, tid, kind, sample, reason, previous_seen_ns };
        match reason {
            None => self.recent.see(late(SpikeReason::Control)),
            // Its snapshot takes what led to it out of the buffers.
            Some(_) => self.recent.forget(sample.seen_ns().saturating_add(SNAPSHOT_NS)),
        }
        reason.map(late)
    }

    /// Counts a sample; `None` if it was not due in the run. One that was due in the run counts, however late it was.
    pub fn count(&mut self, finished: &Finished) -> Option<Counted> {
        self.counted(finished).map(|(counted, _)| counted)
    }

    fn counted(&mut self, finished: &Finished) -> Option<(Counted, Option<SpikeReason>)> {
        let Finished { tid, kind, cpu, due_ns, seen_ns, late_arm, .. } = *finished;
        if !(self.terms.count_from_ns..self.terms.end_ns).contains(&due_ns) {
            return None;
        }
        let at = match self.numbers.get(&(tid, kind)) {
            Some(at) => *at,
            None => self.place_for(tid, kind),
        };
        let series = &mut self.series[at];
        let sample = Sample { cpu, cycle: series.next_cycle(), due_ns, latency_ns: seen_ns.saturating_sub(due_ns) };
        let reason = series.count(sample, late_arm);
        Some((Counted { thread: series.thread, sample }, reason))
    }

    /// A new series for a thread, or one that a thread of its name has left.
    fn place_for(&mut self, tid: i32, kind: WatchedKind) -> usize {
        let left = (self.series.len() >= SERIES_MAX).then(|| self.left_by_another(tid, kind)).flatten();
        let at = left.unwrap_or(self.series.len());
        match self.series.get_mut(at) {
            Some(series) => {
                self.numbers.remove(&(series.tid, kind));
                series.tid = tid;
            }
            None => self.series.push(Series::new(at as u32, tid, kind, self.terms)),
        }
        self.numbers.insert((tid, kind), at);
        at
    }

    fn left_by_another(&self, tid: i32, kind: WatchedKind) -> Option<usize> {
        let name = self.wakeups.thread(tid)?.name();
        let is_left = |series: &Series| {
            let other = self.wakeups.thread(series.tid);
            series.kind == kind && other.is_some_and(|other| other.ended && other.name() == name)
        };
        self.series.iter().position(is_left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread_events::{ThreadEvent, TimedEvent};
    use crate::timer_functions::TimerFunctions;

    const SECOND_NS: i64 = 1_000_000_000;

    fn followed() -> Followed {
        let terms = Terms {
            count_from_ns: SECOND_NS,
            end_ns: 3 * SECOND_NS,
            limit_ns: i64::MAX,
            cycle_limit_ns: i64::MAX,
            captures_outstanding: false,
            spike_threshold_ns: 0,
            stretches: None,
            rest_ns: 0,
            worst_kept: 4,
            every_sample: false,
        };
        Followed::new(Wakeups::new(None, TimerFunctions { sleep: 1, ..TimerFunctions::default() }), terms)
    }

    fn seen(due_ns: i64, seen_ns: i64) -> Finished {
        let kind = WatchedKind::Timer;
        Finished { tid: 7, kind, cpu: 0, due_ns, seen_ns, previous_seen_ns: None, late_arm: false }
    }

    #[test]
    fn a_wake_up_due_in_the_run_counts_however_late_it_came() {
        let mut followed = followed();
        for (due_ns, seen_ns) in [
            (SECOND_NS - 1, SECOND_NS + 5),
            (SECOND_NS, SECOND_NS + 5),
            (3 * SECOND_NS - 1, 3 * SECOND_NS + 400_000_000),
            (3 * SECOND_NS, 3 * SECOND_NS + 5),
        ] {
            followed.book(&seen(due_ns, seen_ns));
        }
        let series = &mut followed.series[0];
        assert_eq!((series.totals().cycles, series.totals().latency_ns_max), (2, Some(400_000_001)));
        series.close_second();
        let seconds: Vec<_> = series.seconds.iter().map(|second| (second.second, second.cycles)).collect();
        assert_eq!(seconds, [(0, 1), (1, 1)], "the last second is the last one asked for");
    }

    #[test]
    fn a_program_that_restarts_for_weeks_has_a_bounded_number_of_series() {
        let mut followed = followed();
        let restarts = 3 * SERIES_MAX as i32;
        for tid in 1..=restarts {
            followed.wakeups.add(tid, if tid == 1 { b"monitor" } else { b"loop" });
            followed.book(&Finished { tid, ..seen(SECOND_NS + i64::from(tid), SECOND_NS + i64::from(tid) + 5) });
            let exit = TimedEvent { ts_ns: SECOND_NS, cpu: 0, event: ThreadEvent::Exit { tid } };
            followed.wakeups.apply(&exit, &mut Vec::new());
        }
        assert_eq!(followed.series.len(), SERIES_MAX);
        assert_eq!(followed.series.iter().map(|series| series.totals().cycles).sum::<u64>(), restarts as u64);
        assert_eq!(followed.series[0].totals().cycles, 1, "another name");
        assert_eq!(followed.series[1].tid, restarts);
    }

    #[test]
    fn a_wake_up_that_never_came_before_the_end_is_unfinished() {
        let mut followed = followed();
        followed.wakeups.add(7, b"loop");
        let due_ns = 3 * SECOND_NS - 10;
        let arm = ThreadEvent::Arm { tid: 7, timer: 1, function: 1, soft_ns: due_ns, hard_ns: due_ns };
        followed.wakeups.apply(&TimedEvent { ts_ns: SECOND_NS, cpu: 0, event: arm }, &mut Vec::new());
        assert_eq!(followed.unfinished(3 * SECOND_NS + 5), 1);
        assert_eq!(followed.unfinished(3 * SECOND_NS - 5), 0, "a run that is stopped ends amid wake-ups");
    }
}
