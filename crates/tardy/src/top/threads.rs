//! The watched threads and their figures, from the events of the watch.

use super::minute::LastMinute;
use archive::histogram::Histogram;
use archive::policy::Policy;
use archive::sample::Second;
use archive::spike::{Spike, SpikeReason};
use archive::watched::{WatchedKind, WatchedSeries};
use runner::event::Event;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Threads that the table holds; further ones are counted.
const THREADS_MAX: usize = 1000;
/// Series of them, and some that are not named yet.
const SERIES_MAX: usize = 4 * THREADS_MAX;
/// A thread that has ended stays for this time.
const ENDED_FOR: Duration = Duration::from_secs(30);
/// The newest second of a series is shown until this many later ones are complete: it arrives with the next wake-up.
const SECONDS_SHOWN: u32 = 3;

/// The explained spike of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    pub tid: i32,
    pub spike: u32,
    /// The culprit in a sentence.
    pub cause: String,
    /// The account, as `tardy explain` prints it.
    pub account: Vec<String>,
}

/// The worst spike of a thread that has a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traced {
    pub spike: u32,
    pub latency_ns: i64,
    pub cpu: u32,
    pub explained: Option<Explained>,
}

/// A thread.
#[derive(Debug, Default)]
struct Thread {
    name: String,
    policy: Option<(Policy, u8)>,
    ended: Option<Duration>,
    traced: Option<Traced>,
}

/// A series of wake-ups.
#[derive(Debug, Default)]
struct Series {
    /// Known once the watch has named the thread.
    tid: Option<i32>,
    is_cycle: bool,
    cpu: Option<u32>,
    samples: u64,
    missed: u64,
    second: Option<Second>,
    worst_ns: Option<i64>,
    minute: LastMinute,
}

/// The figures of a thread at an instant.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub tid: i32,
    pub name: String,
    pub policy: Option<(Policy, u8)>,
    pub cpu: Option<u32>,
    pub samples: u64,
    pub missed: u64,
    /// The worst of the last second.
    pub now_ns: Option<i64>,
    pub p99_ns: Option<i64>,
    pub worst_ns: Option<i64>,
    pub traced: Option<Traced>,
    pub has_ended: bool,
}

/// Every thread.
#[derive(Debug, Default)]
pub struct Threads {
    /// Threads of an ordinary policy are not shown: children of real-time threads.
    only_real_time: bool,
    threads: BTreeMap<i32, Thread>,
    series: BTreeMap<u32, Series>,
    left_out: BTreeSet<i32>,
    /// Of threads that are no longer listed.
    forgotten: Counts,
}

/// Wake-ups, and how many of them were over the limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub samples: u64,
    pub missed: u64,
}

impl Threads {
    pub fn of(only_real_time: bool) -> Self {
        Self { only_real_time, ..Self::default() }
    }

    /// Processes an event that came this time after the start.
    pub fn take(&mut self, event: &Event, now: Duration) {
        match event {
            Event::Seconds(seconds) => seconds.iter().for_each(|second| self.add(*second)),
            Event::Watched(series) => series.iter().for_each(|one| self.name(one, now)),
            Event::Progress { threads, .. } => {
                for progress in threads {
                    if let Some(series) = self.series.get_mut(&progress.thread) {
                        series.cpu = Some(progress.cpu);
                    }
                }
                self.forget_ended(now);
            }
            Event::Totals { thread, cpu, histogram, .. } => {
                if let Some(series) = self.series.get_mut(thread).filter(|series| !series.is_cycle) {
                    series.cpu = Some(*cpu);
                    series.minute.add(now, histogram.clone());
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, second: Second) {
        if !self.series.contains_key(&second.thread) && self.series.len() >= SERIES_MAX {
            return;
        }
        let series = self.series.entry(second.thread).or_default();
        series.samples += u64::from(second.cycles);
        series.missed += u64::from(second.over_limit);
        if second.cycles > 0 {
            series.worst_ns = series.worst_ns.max(Some(second.latency_ns_max));
            series.second = Some(second);
        }
    }

    fn name(&mut self, one: &WatchedSeries, now: Duration) {
        // The last totals name each thread again.
        if one.ended && !self.series.contains_key(&one.thread) {
            return;
        }
        if !self.threads.contains_key(&one.tid) && self.threads.len() >= THREADS_MAX {
            if self.left_out.len() < THREADS_MAX {
                self.left_out.insert(one.tid);
            }
            self.series.remove(&one.thread);
            return;
        }
        if !self.series.contains_key(&one.thread) && self.series.len() >= SERIES_MAX {
            return;
        }
        let thread = self.threads.entry(one.tid).or_default();
        if !one.name.is_empty() {
            thread.name.clone_from(&one.name);
        }
        thread.policy = one.policy.map(|policy| (policy, one.priority)).or(thread.policy);
        thread.ended = one.ended.then(|| thread.ended.unwrap_or(now));
        let series = self.series.entry(one.thread).or_default();
        (series.tid, series.is_cycle) = (Some(one.tid), one.kind == WatchedKind::Cycle);
    }

    fn forget_ended(&mut self, now: Duration) {
        self.threads.retain(|_, thread| thread.ended.is_none_or(|ended| now < ended + ENDED_FOR));
        let (known, forgotten) = (&self.threads, &mut self.forgotten);
        self.series.retain(|_, series| {
            let stays = series.tid.is_none_or(|tid| known.contains_key(&tid));
            if !stays && !series.is_cycle {
                forgotten.samples += series.samples;
                forgotten.missed += series.missed;
            }
            stays
        });
    }

    /// Of threads that ended and are no longer listed.
    pub fn forgotten(&self) -> Counts {
        self.forgotten
    }

    /// Takes a spike into account. Returns whether to explain it: it is the worst of a wake-up of its thread.
    pub fn spike(&mut self, spike: &Spike) -> bool {
        let is_wake_up = spike.watched != Some(WatchedKind::Cycle) && spike.reason != SpikeReason::Control;
        // Without a trace there is nothing to explain; the seconds have the latency.
        if spike.requested || !is_wake_up || spike.snapshot.is_none() {
            return false;
        }
        // A spike may come before the watch names its thread.
        if !self.threads.contains_key(&spike.tid) && self.threads.len() >= THREADS_MAX {
            return false;
        }
        let traced = &mut self.threads.entry(spike.tid).or_default().traced;
        let latency_ns = spike.sample.latency_ns;
        if traced.as_ref().is_some_and(|known| known.latency_ns >= latency_ns) {
            return false;
        }
        *traced = Some(Traced { spike: spike.number, latency_ns, cpu: spike.sample.cpu, explained: None });
        true
    }

    /// Adds an explanation, unless a worse spike has come meanwhile.
    pub fn explained(&mut self, explained: Explained) {
        let traced = self.threads.get_mut(&explained.tid).and_then(|thread| thread.traced.as_mut());
        if let Some(traced) = traced.filter(|traced| traced.spike == explained.spike) {
            traced.explained = Some(explained);
        }
    }

    /// Threads beyond those that the table holds.
    pub fn left_out(&self) -> usize {
        self.left_out.len()
    }

    /// The figures at this instant since the start, by thread.
    pub fn rows(&self, now: Duration) -> Vec<Row> {
        let mut rows: BTreeMap<i32, (Row, Histogram)> = BTreeMap::new();
        for (tid, thread) in self.threads.iter().filter(|(_, thread)| self.shows(thread)) {
            let worst_ns = thread.traced.as_ref().map(|traced| traced.latency_ns);
            let row = Row {
                tid: *tid,
                name: thread.name.clone(),
                policy: thread.policy,
                cpu: None,
                samples: 0,
                missed: 0,
                now_ns: None,
                p99_ns: None,
                worst_ns,
                traced: thread.traced.clone(),
                has_ended: thread.ended.is_some(),
            };
            rows.insert(*tid, (row, Histogram::default()));
        }
        let second_now = u32::try_from(now.as_secs()).unwrap_or(u32::MAX);
        for series in self.series.values().filter(|series| !series.is_cycle) {
            let Some((row, histogram)) = series.tid.and_then(|tid| rows.get_mut(&tid)) else { continue };
            row.samples += series.samples;
            row.missed += series.missed;
            row.worst_ns = row.worst_ns.max(series.worst_ns);
            row.cpu = series.cpu.or(row.cpu);
            let last = series.second.filter(|second| second.second.saturating_add(SECONDS_SHOWN) >= second_now);
            row.now_ns = row.now_ns.max(last.map(|second| second.latency_ns_max));
            histogram.merge(&series.minute.samples(now));
        }
        let with_p99 = |(mut row, histogram): (Row, Histogram)| {
            // The bucket of the quantile may reach beyond the worst sample.
            let p99_ns = histogram.quantile_ns(0.99);
            row.p99_ns = p99_ns.map(|ns| row.worst_ns.map_or(ns, |worst| ns.min(worst)));
            row
        };
        rows.into_values().map(with_p99).collect()
    }

    fn shows(&self, thread: &Thread) -> bool {
        let is_ordinary = thread.policy.is_some_and(|(policy, _)| !policy.is_real_time());
        !(self.only_real_time && is_ordinary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::histogram::bucket_of;
    use archive::sample::Sample;
    use archive::settings::SnapshotMode;
    use archive::spike::Snapshot;

    fn series(thread: u32, kind: WatchedKind, tid: i32) -> WatchedSeries {
        WatchedSeries {
            thread,
            kind,
            tid,
            name: format!("robot-{tid}"),
            policy: Some(Policy::Fifo),
            priority: 80,
            slack_ns_max: 0,
            late_arms: 0,
            page_faults: None,
            ended: false,
        }
    }

    fn second(thread: u32, second: u32, latency_ns_max: i64) -> Second {
        Second { thread, second, cycles: 100, latency_ns_max, over_limit: 1, missed_periods: 0 }
    }

    fn spike(number: u32, tid: i32, latency_ns: i64) -> Spike {
        let sample = Sample { cpu: 1, cycle: 1, due_ns: 1, latency_ns };
        let snapshot = Some(Snapshot {
            mode: SnapshotMode::Flip,
            frozen_ns: 3,
            swap_ns: 0,
            blind_ns: 0,
            coverage: Vec::new(),
            window_covered: true,
            trace_bytes: 1,
            steal_ns: None,
            put_aside_ns: None,
        });
        let spike = Spike::new(number, 0, tid, sample, SpikeReason::NewMaximum);
        Spike { watched: Some(WatchedKind::Timer), snapshot, ..spike }
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_series_of_a_thread_become_one_row() {
        let mut threads = Threads::of(false);
        threads.take(&Event::Seconds(vec![second(0, 0, 9_000), second(1, 0, 30_000), second(2, 0, 900_000)]), at(2));
        assert_eq!(threads.rows(at(2)), [], "not named yet");
        let named =
            [series(0, WatchedKind::Timer, 7), series(1, WatchedKind::Woken, 7), series(2, WatchedKind::Cycle, 7)];
        threads.take(&Event::Watched(named.to_vec()), at(2));
        let histogram = Histogram { buckets: vec![(bucket_of(5_000).unwrap() as u32, 100)] };
        threads.take(&Event::Totals { thread: 0, cpu: 1, histogram, over_limit: 0 }, at(2));
        let [row] = threads.rows(at(2)).try_into().unwrap();
        assert_eq!((row.name.as_str(), row.cpu, row.samples, row.missed), ("robot-7", Some(1), 200, 2));
        assert_eq!((row.now_ns, row.worst_ns), (Some(30_000), Some(30_000)));
        assert_eq!(row.p99_ns.map(|ns| ns / 1000), Some(5));
        let [later] = threads.rows(at(70)).try_into().unwrap();
        assert_eq!((later.now_ns, later.p99_ns, later.worst_ns), (None, None, Some(30_000)), "it sleeps");
    }

    #[test]
    fn the_worst_spike_of_a_thread_is_explained_and_no_smaller_one() {
        let mut threads = Threads::of(false);
        assert!(threads.spike(&spike(1, 7, 500)));
        assert!(!threads.spike(&spike(2, 7, 400)));
        assert!(!threads.spike(&Spike { watched: Some(WatchedKind::Cycle), ..spike(3, 7, 9_000) }));
        assert!(!threads.spike(&Spike { requested: true, ..spike(3, 7, 9_000) }));
        assert!(!threads.spike(&Spike { snapshot: None, ..spike(3, 7, 9_000) }));
        assert!(threads.spike(&spike(4, 7, 600)));
        let explained = |spike: u32| Explained { tid: 7, spike, cause: "hog had the CPU".into(), account: Vec::new() };
        threads.explained(explained(1));
        let cause = |threads: &Threads| {
            let traced = threads.rows(at(1))[0].traced.clone().unwrap();
            (traced.latency_ns, traced.explained.map(|explained| explained.cause))
        };
        assert_eq!(cause(&threads), (600, None), "of an earlier spike");
        threads.explained(explained(4));
        assert_eq!(cause(&threads), (600, Some("hog had the CPU".into())));
    }

    #[test]
    fn an_ended_thread_is_marked_and_then_forgotten() {
        let progress = Event::Progress { threads: Vec::new(), snapshots: 0 };
        let mut threads = Threads::of(false);
        let ended = WatchedSeries { ended: true, ..series(0, WatchedKind::Timer, 7) };
        threads.take(&Event::Watched(vec![series(0, WatchedKind::Timer, 7), series(1, WatchedKind::Timer, 8)]), at(1));
        threads.take(&Event::Seconds(vec![second(0, 1, 9_000)]), at(2));
        threads.take(&Event::Watched(vec![ended.clone()]), at(5));
        threads.take(&progress, at(34));
        assert_eq!(threads.rows(at(34)).iter().map(|row| row.has_ended).collect::<Vec<_>>(), [true, false]);
        threads.take(&progress, at(35));
        assert_eq!(threads.rows(at(35)).iter().map(|row| row.tid).collect::<Vec<_>>(), [8]);
        assert_eq!(threads.series.len(), 1);
        assert_eq!(threads.forgotten(), Counts { samples: 100, missed: 1 });
        threads.take(&Event::Watched(vec![ended]), at(36));
        assert_eq!(threads.rows(at(36)).len(), 1, "it does not come again");
    }

    #[test]
    fn the_list_is_bounded_and_ordinary_children_of_real_time_threads_are_hidden() {
        let mut threads = Threads::of(true);
        let all = (0..1200).map(|number| series(number, WatchedKind::Timer, number as i32 + 1));
        threads.take(&Event::Watched(all.collect()), at(1));
        assert_eq!((threads.rows(at(1)).len(), threads.left_out()), (1000, 200));
        let ordinary = WatchedSeries { policy: Some(Policy::Other), ..series(3, WatchedKind::Timer, 4) };
        threads.take(&Event::Watched(vec![ordinary]), at(1));
        assert_eq!(threads.rows(at(1)).len(), 999);
    }
}
