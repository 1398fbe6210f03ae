//! The source of another program's threads: their series from the follower, their state from /proc, and their end.

use super::follower::{Additions, announced_of};
use super::generations::Generations;
use super::housekeeping::Housekeeping;
use super::log_reader::LogReader;
use super::marks::Marks;
use super::recording::Recording;
use super::selection::Selection;
use super::start;
use super::targets::{self, ThreadFound};
use crate::cadence::Every;
use crate::compact;
use crate::kernel::bell::Bell;
use crate::kernel::{clock, scheduling};
use crate::measure::start_instant::StartInstant;
use crate::problem::MeterProblem;
use crate::session::source::{Batch, ControlPace, SampleSource, Send, Span};
use crate::trace::capture::{Announced, Saved};
use crate::trace::capturing::Doorbell;
use crate::trace::stacks::{StackSampling, THREADS_MAX};
use archive::message::{Loss, LossKind, Message, Problem, Severity, ThreadProgress};
use archive::settings::Policy;
use archive::spike::{RequestSource, SaveRequest};
use archive::watched::chain::BEFORE_CHAIN_NS;
use archive::watched::guard::EventKind;
use archive::watched::{PageFaults, SAVED_NS, WatchSettings, WatchedKind, WatchedSeries};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use wakeups::followed::Followed;
use wakeups::series::{ControlWish, Series};

const LOOK_AROUND_NS: i64 = 200_000_000;
/// A look reads all of /proc, which a guard does for months.
const GUARD_LOOKS_NS: i64 = 2_000_000_000;
/// Interval between stretches that programs ask to keep: each takes the time and the disk space of a whole buffer.
const SAVE_RESTS_NS: i64 = 2_000_000_000;
const FIRST_CONTROL_NS: i64 = 1_000_000_000;
const CONTROL_EVERY_NS: i64 = 2_000_000_000;
/// Fewest samples of a series before a control is requested.
const CONTROL_SAMPLES_MIN: u64 = 100;

/// Data of a thread in addition to its samples.
#[derive(Debug, Clone, Copy)]
struct Facts {
    pid: i32,
    policy: Option<(Policy, u8)>,
    /// At the first sample, and now.
    faults_before: Option<PageFaults>,
    faults: Option<PageFaults>,
}

/// The following thread, and the state shared with it.
pub struct Following {
    pub handle: JoinHandle<()>,
    pub tid: i32,
    pub followed: Arc<Mutex<Followed>>,
    pub stop: Arc<AtomicBool>,
    pub additions: Additions,
    /// Instances of the snapshotter, whose filters list the threads.
    pub recording: Recording,
    /// Where the capturing thread hears of spikes; absent if nothing is captured.
    pub saves: Option<Saves>,
    /// Lines of programs in the trace marker.
    pub marks: Option<Marks>,
    pub stacks: Option<Arc<StackSampling>>,
    /// Rung for what cannot wait.
    pub bell: Option<Bell>,
    pub housekeeping: Housekeeping,
}

/// The way of a stretch that is kept on request to the capturing thread.
pub struct Saves {
    pub output: Sender<Announced>,
    pub doorbell: Option<Doorbell>,
}

/// When counting begins and how long it lasts.
pub struct Beginning {
    /// Known before the session starts where the kernel has looked for maxima since: it does not forget them. Otherwise on
    /// a busy machine arming would take time from a command that is held back.
    pub count_from_ns: Option<i64>,
    pub duration_ns: i64,
    pub start: Arc<StartInstant>,
}

impl Beginning {
    /// The span that starts at this instant.
    pub fn span(&self, count_from_ns: i64) -> Span {
        Span { start_ns: count_from_ns, count_from_ns, end_ns: self.due(count_from_ns).end }
    }

    /// The instants at which its wake-ups are due.
    pub fn due(&self, count_from_ns: i64) -> Range<i64> {
        count_from_ns..count_from_ns.saturating_add(self.duration_ns)
    }
}

/// Threads of another program.
pub struct WatchedThreads<'a> {
    request: &'a WatchSettings,
    selection: Selection,
    generations: Generations,
    log: Option<LogReader>,
    beginning: Beginning,
    /// Of the run, once it has begun.
    end_ns: i64,
    followed: Arc<Mutex<Followed>>,
    following: Option<JoinHandle<()>>,
    follower_tid: i32,
    stop: Arc<AtomicBool>,
    additions: Additions,
    recording: Recording,
    saves: Option<Saves>,
    bell: Option<Bell>,
    marks: Option<Marks>,
    /// A program that asks all the time is heard this often.
    save_rests: Every,
    chain_rests: Every,
    stacks: Option<Arc<StackSampling>>,
    housekeeping: Housekeeping,
    threads: BTreeMap<i32, Facts>,
    /// Of each series, the state that was sent last: its samples, and whether its thread had ended.
    sent: BTreeMap<u32, (u64, bool)>,
    look_around: Every,
    /// When following ended.
    ended_ns: i64,
}

impl<'a> WatchedThreads<'a> {
    pub fn new(
        request: &'a WatchSettings,
        selection: Selection,
        beginning: Beginning,
        following: Following,
        threads: Vec<ThreadFound>,
        log: Option<LogReader>,
    ) -> Self {
        let Following { handle, tid, followed, stop, additions, recording, saves, marks, stacks, bell, housekeeping } =
            following;
        Self {
            request,
            selection,
            generations: Generations::default(),
            log,
            beginning,
            end_ns: i64::MAX,
            followed,
            following: Some(handle),
            follower_tid: tid,
            stop,
            additions,
            recording,
            saves,
            bell,
            marks,
            save_rests: Every::new(SAVE_RESTS_NS),
            chain_rests: Every::new(SAVE_RESTS_NS),
            stacks,
            housekeeping,
            threads: compact::inserted(threads.into_iter().map(|found| (found.tid, Facts::of(found.pid)))),
            sent: BTreeMap::new(),
            look_around: Every::new(if request.guard.is_some() { GUARD_LOOKS_NS } else { LOOK_AROUND_NS }),
            ended_ns: i64::MAX,
        }
    }

    /// Reads /proc: finds new threads and those with a matching name, and updates the known ones.
    fn look_around(&mut self) {
        let mut found = self.selection.threads();
        self.generations.see(compact::inserted(found.iter().map(|thread| thread.pid)));
        let (living, sampled) = {
            let mut followed = lock(&self.followed);
            let born = std::mem::take(&mut followed.wakeups.born);
            found.extend(born.into_iter().filter_map(|tid| {
                let pid = targets::process_of(tid)?;
                Some(ThreadFound { tid, pid, name: String::new() })
            }));
            let new: Vec<i32> =
                found.iter().filter(|found| !followed.wakeups.knows(found.tid)).map(|found| found.tid).collect();
            for found in &found {
                followed.wakeups.add(found.tid, found.name.as_bytes());
            }
            self.additions.add(&new);
            let sampled: BTreeSet<i32> = compact::inserted(followed.series.iter().map(|series| series.tid));
            (followed.wakeups.living().collect::<Vec<_>>(), sampled)
        };
        for found in found {
            self.threads.entry(found.tid).or_insert_with(|| Facts::of(found.pid));
        }
        // A program that restarts for weeks has many more threads than live at a time.
        let alive: BTreeSet<i32> = compact::inserted(living.iter().copied());
        self.threads.retain(|tid, _| alive.contains(tid) || sampled.contains(tid));
        for (tid, facts) in self.threads.iter_mut().filter(|(tid, _)| alive.contains(tid)) {
            facts.look(*tid, sampled.contains(tid));
        }
        if let Some(stacks) = &self.stacks {
            stacks.only(&living);
            stacks
                .add(self.threads.iter().filter(|(tid, _)| living.contains(tid)).map(|(tid, facts)| (*tid, facts.pid)));
        }
        self.recording.only(&living);
        self.housekeeping.keep_off(&living);
    }

    /// A program that was replaced or has ended, where the watch went on without it.
    fn report_restarts(&self, send: Send<'_>) {
        if self.selection.only_process().is_some() {
            return;
        }
        let (whom, count) = (self.request.whom(), self.generations.restarts());
        if count > 0 {
            let problem = MeterProblem::ProgramRestarted { whom: whom.clone(), count };
            send(Message::Problem(Problem::new(Severity::Notice, &problem)));
        }
        if !self.generations.runs() {
            send(Message::Problem(Problem::new(Severity::Notice, &MeterProblem::ProgramEnded { whom })));
        }
    }

    fn end_following(&mut self) -> bool {
        self.stop.store(true, Relaxed);
        self.following.take().is_none_or(|thread| thread.join().is_ok())
    }
}

impl SampleSource for WatchedThreads<'_> {
    fn tool_tids(&self) -> Vec<i32> {
        let host = rustix::process::getppid().map(|host| host.as_raw_nonzero().get());
        let log = self.log.as_ref().map(LogReader::tid);
        [self.follower_tid].into_iter().chain(host).chain(log).collect()
    }

    fn bell(&self) -> Option<Bell> {
        self.bell.clone()
    }

    fn start(&mut self) -> Span {
        let known_ns = self.beginning.count_from_ns;
        known_ns.into_iter().for_each(clock::sleep_until_ns);
        let span = self.beginning.span(known_ns.unwrap_or_else(clock::monotonic_ns));
        self.end_ns = span.end_ns;
        lock(&self.followed).count_in(span.count_from_ns..span.end_ns);
        self.beginning.start.choose(span.count_from_ns);
        if let Some(log) = &self.log {
            log.count_from(span.count_from_ns);
        }
        if let Selection::Process { pid, ours: true } = self.selection {
            start::release(pid);
        }
        span
    }

    fn drain(&mut self, batch: &mut Batch) {
        for series in &mut lock(&self.followed).series {
            batch.seconds.append(&mut series.seconds);
            batch.add_samples(series.thread, series.samples.drain(..));
        }
    }

    fn check(&mut self, now_ns: i64) -> Vec<Problem> {
        if self.look_around.is_due(now_ns) {
            self.look_around();
        }
        let refusal = self.stacks.as_ref().and_then(|stacks| stacks.take_refusal());
        let problem = refusal.map(|error| Problem::new(Severity::Notice, &MeterProblem::StacksNotSampled(error)));
        problem.into_iter().collect()
    }

    /// Progress of the wake-ups: those by timers, or all if no timer woke a thread.
    fn progress(&self) -> Vec<ThreadProgress> {
        let series = &lock(&self.followed).series;
        let timers = series.iter().any(|series| series.kind == WatchedKind::Timer);
        let kind = if timers { WatchedKind::Timer } else { WatchedKind::Woken };
        let shown = series.iter().filter(|series| series.kind == kind);
        shown.map(progress_of).collect()
    }

    fn control_pace(&self) -> ControlPace {
        ControlPace::Early { first_ns: FIRST_CONTROL_NS, every_ns: CONTROL_EVERY_NS }
    }

    /// At least half of the samples are ordinary. Requested from the series with most samples, timers before others.
    fn request_control(&mut self) -> bool {
        let mut followed = lock(&self.followed);
        let known = followed
            .series
            .iter_mut()
            .filter(|series| series.kind != WatchedKind::Cycle && series.totals().cycles >= CONTROL_SAMPLES_MIN);
        let chosen = known.min_by_key(|series| (series.kind, std::cmp::Reverse(series.totals().cycles)));
        let Some((series, ceiling_ns)) =
            chosen.and_then(|series| series.histogram().quantile_ns(0.6).map(|ceiling_ns| (series, ceiling_ns)))
        else {
            return false;
        };
        series.control = Some(ControlWish { ceiling_ns });
        true
    }

    fn save_requested(&mut self, now_ns: i64) -> Option<SaveRequest> {
        // The worst that waits stands for all: each has how many there were so far.
        let missed = std::mem::take(&mut lock(&self.followed).missed_chains);
        let worst = missed.into_iter().max_by_key(|missed| missed.latency_ns() - missed.deadline_ns);
        if let Some(missed) = worst.filter(|_| self.chain_rests.is_due(now_ns)) {
            return Some(SaveRequest::new(RequestSource::Chain(missed), ""));
        }
        self.marks.as_mut()?.take(now_ns).filter(|_| self.save_rests.is_due(now_ns))
    }

    fn save(&mut self, now_ns: i64, request: &SaveRequest, last_try: bool) -> Option<Problem> {
        let saves = self.saves.as_ref()?;
        let saved_ns = match request.missed_chain() {
            Some(missed) => now_ns.saturating_sub(missed.stimulus_ns).max(0).unsigned_abs() + BEFORE_CHAIN_NS,
            None => self.request.guard.as_ref().map_or(SAVED_NS, |guard| guard.saved_ns),
        };
        let asked_ns = now_ns.saturating_sub_unsigned(saved_ns);
        let from_ns = self.recording.complete_since_ns().map_or(asked_ns, |ns| ns.max(asked_ns));
        // Where the buffers reach back less far than the reading, an account without a trace is better than none.
        let latest = {
            let followed = lock(&self.followed);
            let recent = &followed.recent;
            let worst = recent.worst_since(from_ns).or_else(|| recent.worst_since(asked_ns));
            worst.or_else(|| recent.newest_since(asked_ns).filter(|_| last_try))
        };
        let Some(latest) = latest else {
            let seconds = saved_ns / 1_000_000_000;
            return Some(Problem::new(Severity::Notice, &MeterProblem::NothingToSave { seconds }));
        };
        let saved = Some(Saved { ns: saved_ns, request: request.clone() });
        let _ = saves.output.send(Announced { saved, ..announced_of(latest) });
        saves.doorbell.iter().for_each(Doorbell::ring);
        None
    }

    fn shed(&mut self, kinds: usize) -> bool {
        self.recording.shed(EventKind::first(kinds));
        true
    }

    /// A process given by number is gone.
    fn is_done(&mut self, now_ns: i64) -> Result<bool, MeterProblem> {
        let ours = self.request.ours;
        let gone = |pid: i32| {
            targets::state_of(pid).is_none() && (ours || lock(&self.followed).wakeups.living().next().is_none())
        };
        Ok(now_ns >= self.end_ns || self.selection.only_process().is_some_and(gone))
    }

    fn stop(&mut self, send: Send<'_>) -> Result<(), MeterProblem> {
        let followed = self.end_following();
        self.ended_ns = clock::monotonic_ns();
        self.look_around();
        if !followed {
            send(Message::Problem(Problem::new(Severity::Invalid, &MeterProblem::FollowingDied)));
        }
        if let Some(problem) = self.log.as_mut().and_then(LogReader::end) {
            send(Message::Problem(Problem::new(Severity::Degraded, &problem)));
        }
        self.report_restarts(send);
        let count = self.stacks.as_ref().map_or(0, |stacks| stacks.left_out());
        if count > 0 {
            let problem = MeterProblem::StacksLeftOut { count, most: THREADS_MAX };
            send(Message::Problem(Problem::new(Severity::Notice, &problem)));
        }
        lock(&self.followed).series.iter_mut().for_each(Series::close_second);
        Ok(())
    }

    fn losses(&self) -> Vec<Loss> {
        let followed = lock(&self.followed);
        let events = followed.wakeups.lost.iter().map(|(cpu, count)| Loss {
            kind: LossKind::Events,
            count: *count,
            detail: format!("about the watched threads on CPU {cpu}: wake-ups around them have no sample"),
        });
        let unseen = Loss {
            kind: LossKind::WakeUps,
            count: followed.wakeups.unseen,
            detail: "the trace has no switch to the thread, so these wake-ups have no sample. After several of them the meter takes the instant at which the thread returns from its system call instead.".into(),
        };
        let unfinished = Loss {
            kind: LossKind::WakeUps,
            count: followed.unfinished(self.ended_ns),
            detail: "the run ended before these wake-ups came, so they have no sample".into(),
        };
        events.chain([unseen, unfinished]).filter(|loss| loss.count > 0).collect()
    }

    fn send_totals(&mut self, last: bool, send: Send<'_>) {
        while let Some(counts) = self.log.as_ref().and_then(LogReader::take) {
            send(Message::OutputCounts(counts));
        }
        let mut followed = lock(&self.followed);
        let Followed { wakeups, series, .. } = &mut *followed;
        let ended = |tid: i32| wakeups.thread(tid).is_none_or(|thread| thread.ended);
        // Totals of threads that ended long ago would be most of the archive of a program that restarts for weeks.
        let changed: BTreeSet<u32> = compact::inserted(series.iter().filter_map(|series| {
            let state = (series.totals().cycles, ended(series.tid));
            (self.sent.insert(series.thread, state) != Some(state) || last).then_some(series.thread)
        }));
        let watched: Vec<WatchedSeries> = series
            .iter()
            .filter(|series| changed.contains(&series.thread))
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
                    ended: ended(series.tid),
                }
            })
            .collect();
        if !watched.is_empty() {
            send(Message::Watched(watched));
        }
        for series in series.iter_mut().filter(|series| changed.contains(&series.thread)) {
            send(Message::Thread {
                thread: series.thread,
                cpu: series.cpu,
                totals: series.totals(),
                histogram: series.histogram(),
                worst: if last { series.take_worst() } else { Vec::new() },
            });
        }
    }
}

/// A failed watch must not leave a thread that holds files of its instance open.
impl Drop for WatchedThreads<'_> {
    fn drop(&mut self) {
        self.end_following();
    }
}

impl Facts {
    fn of(pid: i32) -> Self {
        Self { pid, policy: None, faults_before: None, faults: None }
    }

    /// Reads the kernel's data as long as the thread lives. Faults count from the first sample: those of a program's
    /// start do not matter.
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

fn lock(followed: &Mutex<Followed>) -> MutexGuard<'_, Followed> {
    followed.lock().unwrap_or_else(PoisonError::into_inner)
}

fn progress_of(series: &Series) -> ThreadProgress {
    let totals = series.totals();
    ThreadProgress {
        thread: series.thread,
        cpu: series.cpu,
        cycles: totals.cycles,
        latency_ns_last: series.latency_ns_last,
        latency_ns_max: totals.latency_ns_max.unwrap_or(0),
        missed_periods: series.late_arms,
    }
}
