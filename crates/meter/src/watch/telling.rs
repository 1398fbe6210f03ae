//! The main thread while threads are watched: tells the host what is new, looks for new threads, and notices the end.

use super::Watching;
use super::follower::Followed;
use super::pattern::Pattern;
use super::series::{ControlWish, Series};
use super::targets::{self, Found};
use crate::counters::Counters;
use crate::kernel::{clock, scheduling};
use crate::link::{Control, Link};
use crate::load_reports;
use crate::run::Lines;
use crate::run::watch::{Stopped, forward_captured, listen};
use archive::message::{FileKind, Message, Severity, ThreadProgress};
use archive::settings::{Policy, RunSettings};
use archive::watched::{PageFaults, WatchSettings, WatchedKind, WatchedSeries};
use load::RunningLoads;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

const PROGRESS_NS: i64 = 250_000_000;
const LOOK_AROUND_NS: i64 = 200_000_000;
const SECOND_NS: i64 = 1_000_000_000;
const FIRST_CHECKPOINT_NS: i64 = 1_000_000_000;
const LONGEST_CHECKPOINT_NS: i64 = 600_000_000_000;
const CONTROL_EVERY_NS: i64 = 2_000_000_000;
/// A series is known well enough for a control after this many samples.
const CONTROL_SAMPLES_MIN: u64 = 100;

/// What is known of a thread beside its samples.
#[derive(Debug, Clone, Copy)]
struct Facts {
    pid: i32,
    policy: Option<(Policy, u8)>,
    /// When its first sample came, and last.
    faults_before: Option<PageFaults>,
    faults: Option<PageFaults>,
}

/// What the main thread keeps.
pub struct Telling<'a> {
    request: &'a WatchSettings,
    pattern: Option<Pattern>,
    loads: &'a mut RunningLoads,
    threads: BTreeMap<i32, Facts>,
    every_sample: bool,
    files: BTreeMap<u32, (u32, u64)>,
    controls_left: u32,
    control_at_ns: i64,
    progress_at_ns: i64,
    look_at_ns: i64,
    slow_at_ns: i64,
    checkpoint_at_ns: i64,
    checkpoint_every_ns: i64,
    complained: BTreeSet<String>,
    counters: Option<Counters>,
}

impl<'a> Telling<'a> {
    pub fn new(
        settings: &RunSettings,
        request: &'a WatchSettings,
        loads: &'a mut RunningLoads,
        count_from_ns: i64,
        threads: Vec<Found>,
    ) -> Self {
        Self {
            request,
            pattern: request.comm.as_deref().and_then(|text| Pattern::new(text).ok()),
            loads,
            threads: threads.into_iter().map(|found| (found.tid, Facts::of(found.pid))).collect(),
            every_sample: settings.every_sample,
            files: BTreeMap::new(),
            controls_left: settings.trace.controls,
            control_at_ns: count_from_ns + SECOND_NS,
            progress_at_ns: 0,
            look_at_ns: 0,
            slow_at_ns: 0,
            checkpoint_at_ns: count_from_ns + FIRST_CHECKPOINT_NS,
            checkpoint_every_ns: FIRST_CHECKPOINT_NS,
            complained: BTreeSet::new(),
            counters: settings.counters.then(|| Counters::begin(&[])),
        }
    }

    /// Goes on until the time is up, the program has ended, or somebody says stop.
    pub fn until_done<W: Write>(&mut self, watching: &mut Watching, lines: &mut Lines<W>) -> Stopped {
        loop {
            let control = listen(lines);
            let now_ns = clock::monotonic_ns();
            self.drain(watching, &mut lines.link);
            self.look_around(watching, now_ns);
            self.tell(watching, &mut lines.link, now_ns);
            match control {
                Some(Control::Stop) => return Stopped::Asked,
                Some(Control::Gone) => return Stopped::LinkLost,
                None if lines.link.is_broken() => return Stopped::LinkLost,
                None if now_ns >= watching.end_ns || self.nobody_left(watching) => return Stopped::AsPlanned,
                None => {}
            }
        }
    }

    /// A process that was named is gone; a name may come back at any time.
    fn nobody_left(&self, watching: &Watching) -> bool {
        let Some(pid) = self.request.pid else { return false };
        targets::state_of(pid).is_none() && (self.request.ours || lock(watching).wakeups.living().next().is_none())
    }

    /// Sends what finished since the last time.
    fn drain<W: Write>(&mut self, watching: &mut Watching, link: &mut Link<W>) {
        let mut seconds = Vec::new();
        let mut samples = Vec::new();
        {
            let mut followed = lock(watching);
            for series in &mut followed.series {
                seconds.append(&mut series.seconds);
                if self.every_sample && !series.samples.is_empty() {
                    samples.push((series.thread, std::mem::take(&mut series.samples)));
                }
            }
        }
        if !seconds.is_empty() {
            link.send(&Message::Seconds(seconds));
        }
        for (thread, samples) in samples {
            let (file, offset) =
                self.files.entry(thread).or_insert_with(|| (link.begin_file(FileKind::Samples { thread }), 0));
            let bytes: Vec<u8> = samples
                .iter()
                .flat_map(|(due, latency)| [due.to_le_bytes(), latency.to_le_bytes()])
                .flatten()
                .collect();
            link.chunk(*file, *offset, &bytes);
            *offset += bytes.len() as u64;
        }
        if let Some(capturing) = &mut watching.capturing {
            forward_captured(capturing, link);
        }
    }

    /// Looks at /proc: who came, who is asked for by name, what became of those that are known.
    fn look_around(&mut self, watching: &mut Watching, now_ns: i64) {
        if now_ns < self.look_at_ns {
            return;
        }
        self.look_at_ns = now_ns + LOOK_AROUND_NS;
        let mut found = match (&self.pattern, self.request.pid) {
            (Some(pattern), _) => targets::threads_called(pattern, std::process::id() as i32),
            (None, Some(pid)) => targets::threads_below(pid),
            (None, None) => Vec::new(),
        };
        let (living, sampled) = {
            let mut followed = lock(watching);
            let born = std::mem::take(&mut followed.wakeups.born);
            found.extend(born.into_iter().filter_map(|tid| {
                let pid = targets::process_of(tid)?;
                Some(Found { tid, pid, name: String::new() })
            }));
            let new: Vec<i32> =
                found.iter().filter(|found| !followed.wakeups.knows(found.tid)).map(|found| found.tid).collect();
            for found in &found {
                followed.wakeups.add(found.tid, found.name.as_bytes());
            }
            watching.additions.add(&new);
            let sampled: BTreeSet<i32> = followed.series.iter().map(|series| series.tid).collect();
            (followed.wakeups.living().collect::<Vec<_>>(), sampled)
        };
        for found in found {
            self.threads.entry(found.tid).or_insert_with(|| Facts::of(found.pid));
        }
        for (tid, facts) in &mut self.threads {
            facts.look(*tid, sampled.contains(tid));
        }
        watching.recording.only(&living);
    }

    fn tell<W: Write>(&mut self, watching: &mut Watching, link: &mut Link<W>, now_ns: i64) {
        if now_ns >= self.progress_at_ns {
            self.progress_at_ns = now_ns + PROGRESS_NS;
            let snapshots =
                watching.capturing.as_ref().map_or(0, |capturing| capturing.counters.snapshots.load(Relaxed));
            link.send(&Message::Progress { threads: progress(&lock(watching).series), snapshots });
        }
        if now_ns >= self.slow_at_ns {
            self.slow_at_ns = now_ns + SECOND_NS;
            self.check_loads(link);
        }
        link.send_counters(self.counters.as_mut().and_then(|counters| counters.look_when_due(now_ns)));
        if now_ns >= self.checkpoint_at_ns {
            self.checkpoint_every_ns = (self.checkpoint_every_ns * 2).min(LONGEST_CHECKPOINT_NS);
            self.checkpoint_at_ns = now_ns + self.checkpoint_every_ns;
            self.send_totals(watching, false, link);
        }
        if self.controls_left > 0 && now_ns >= self.control_at_ns {
            self.control_at_ns = now_ns + CONTROL_EVERY_NS;
            self.ask_for_control(watching);
        }
    }

    /// Ordinary is what at least every second sample is like. Asked of the series with most samples, timers before others.
    fn ask_for_control(&mut self, watching: &Watching) {
        let mut followed = lock(watching);
        let known = followed
            .series
            .iter_mut()
            .filter(|series| series.kind != WatchedKind::Cycle && series.totals().cycles >= CONTROL_SAMPLES_MIN);
        let chosen = known.min_by_key(|series| (series.kind, std::cmp::Reverse(series.totals().cycles)));
        if let Some(series) = chosen
            && let Some(ceiling_ns) = series.histogram().quantile_ns(0.6)
        {
            series.control = Some(ControlWish { ceiling_ns });
            self.controls_left -= 1;
        }
    }

    fn check_loads<W: Write>(&mut self, link: &mut Link<W>) {
        load_reports::send(self.loads.sample(), &mut self.complained, link);
    }

    /// Whom the host has heard about.
    pub fn into_complained(self) -> BTreeSet<String> {
        self.complained
    }

    /// Ends the threads and sends what is left.
    pub fn collect<W: Write>(&mut self, watching: &mut Watching, link: &mut Link<W>) {
        watching.stop.store(true, Relaxed);
        let followed = watching.following.take().is_none_or(|thread| thread.join().is_ok());
        self.look_at_ns = 0;
        self.look_around(watching, clock::monotonic_ns());
        if !followed {
            link.problem(
                Severity::Invalid,
                "the following thread died; later samples are missing",
                "please report this",
            );
        }
        lock(watching).series.iter_mut().for_each(Series::close_second);
        if watching.capturing.as_mut().is_some_and(|capturing| !capturing.stop()) {
            let text = "the capturing thread died; later spikes have no trace";
            link.problem(Severity::Degraded, text, "please report this");
        }
        self.drain(watching, link);
        for (file, bytes) in self.files.values() {
            link.send(&Message::FileEnd { file: *file, bytes: *bytes });
        }
        self.report_losses(watching, link);
        self.send_totals(watching, true, link);
    }

    fn report_losses<W: Write>(&self, watching: &Watching, link: &mut Link<W>) {
        let lost = lock(watching).wakeups.lost.clone();
        for (cpu, count) in lost {
            let detail = format!("about the watched threads on CPU {cpu}: wake-ups around them have no sample");
            link.loss("events", count, &detail);
        }
        let unseen = lock(watching).wakeups.unseen;
        link.loss("wake-ups", unseen, "have no sample: the kernel did not record when the thread was given the CPU; after the first few its return from the system call counts instead");
        if let Some(capturing) = &watching.capturing {
            let smaller = capturing.counters.not_worth.load(Relaxed);
            let detail = "not taken: every kept one was of a larger spike (raise --snapshots to keep more)";
            link.loss("snapshots", smaller, detail);
        }
    }

    fn send_totals<W: Write>(&self, watching: &Watching, last: bool, link: &mut Link<W>) {
        let mut followed = lock(watching);
        let Followed { wakeups, series, .. } = &mut *followed;
        let watched: Vec<WatchedSeries> = series
            .iter()
            .map(|series| {
                let thread = wakeups.thread(series.tid);
                let facts = self.threads.get(&series.tid);
                let policy = facts.and_then(|facts| facts.policy);
                WatchedSeries {
                    thread: series.thread,
                    kind: series.kind,
                    tid: series.tid,
                    name: thread.map(|thread| thread.name()).unwrap_or_default(),
                    policy: policy.map(|(policy, _)| policy),
                    priority: policy.map_or(0, |(_, priority)| priority),
                    slack_ns_max: thread.map_or(0, |thread| thread.slack_ns_max),
                    late_arms: series.late_arms,
                    page_faults: facts.and_then(Facts::faults_since),
                    ended: thread.is_none_or(|thread| thread.ended),
                }
            })
            .collect();
        if !watched.is_empty() {
            link.send(&Message::Watched(watched));
        }
        for series in series {
            link.send(&Message::Thread {
                thread: series.thread,
                cpu: series.cpu,
                totals: series.totals(),
                histogram: series.histogram(),
                worst: if last { series.take_worst() } else { Vec::new() },
            });
        }
    }
}

impl Facts {
    fn of(pid: i32) -> Self {
        Self { pid, policy: None, faults_before: None, faults: None }
    }

    /// Asks the kernel while it can be asked. Faults count from the first sample: what a program does before it has
    /// begun its work is nobody's concern.
    fn look(&mut self, tid: i32, sampled: bool) {
        self.policy = scheduling::policy_of(tid).ok().or(self.policy);
        if sampled && let Some(faults) = targets::page_faults(self.pid, tid) {
            self.faults_before = self.faults_before.or(Some(faults));
            self.faults = Some(faults);
        }
    }

    fn faults_since(&self) -> Option<PageFaults> {
        let (before, now) = self.faults_before.zip(self.faults)?;
        Some(PageFaults {
            minor: now.minor.saturating_sub(before.minor),
            major: now.major.saturating_sub(before.major),
        })
    }
}

fn lock(watching: &Watching) -> std::sync::MutexGuard<'_, Followed> {
    watching.followed.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the wake-ups stand: those by timers, or all there are when no timer woke anybody.
fn progress(series: &[Series]) -> Vec<ThreadProgress> {
    let timers = series.iter().any(|series| series.kind == WatchedKind::Timer);
    let kind = if timers { WatchedKind::Timer } else { WatchedKind::Woken };
    let shown = series.iter().filter(|series| series.kind == kind);
    shown
        .map(|series| {
            let totals = series.totals();
            ThreadProgress {
                thread: series.thread,
                cpu: series.cpu,
                cycles: totals.cycles,
                latency_ns_last: series.latency_ns_last,
                latency_ns_max: totals.latency_ns_max.unwrap_or(0),
                missed_periods: series.late_arms,
            }
        })
        .collect()
}
