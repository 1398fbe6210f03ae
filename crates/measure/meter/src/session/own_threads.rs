//! The source of our own threads: as many as the method sets up, all ready before the first sample.

use super::own_thread::OwnThread;
use super::partners::Partners;
use super::plan::Plan;
use super::source::{Batch, ControlPace, SampleSource, Send, Span};
use super::stall::LastProgress;
use crate::cadence::Every;
use crate::gaps::Gaps;
use crate::kernel::{clock, scheduling};
use crate::link::Link;
use crate::measure::dither::Dither;
use crate::measure::schedule::Schedule;
use crate::measure::start_instant::StartInstant;
use crate::measure::thread::{self, Measured, ThreadContext, ThreadRequest};
use crate::measure::thread_record::ThreadRecord;
use crate::methods::ThreadSetup;
use crate::methods::program::RequestingProgram;
use crate::problem::{MeterProblem, refused, severity_of_refusal};
use crate::trace::arming::Armed;
use crate::trace::capture::MeasuredThread;
use crate::trace::retention::stretches;
use archive::effective::EffectiveThread;
use archive::message::{FileKind, Loss, LossKind, Message, Problem, Severity, ThreadProgress};
use archive::method::Stimulus;
use archive::settings::{Policy, RunSettings};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

/// Time for every thread to get ready after the start instant was chosen.
const LEAD_NS: i64 = 20_000_000;
/// Instants drawn by a seed begin at a multiple of this, so that in virtual time a seed stands for the same instants
/// whatever the kernel, and however long it took to get ready.
const WHOLE_NS: i64 = 100_000_000;
/// Time for the measuring threads to see that they must stop, beyond one interval.
const STOP_TIME: Duration = Duration::from_secs(5);
/// A measuring thread that is still asleep this long after the end will not wake.
const OVERDUE_NS: i64 = 10_000_000_000;
const CHECK_NS: i64 = 1_000_000_000;
/// Without an end to spread them over, controls are taken this far apart.
const CONTROL_EVERY_NS: i64 = 30_000_000_000;

/// All measuring threads of a run.
pub struct OwnThreads<'a> {
    settings: &'a RunSettings,
    threads: Vec<OwnThread>,
    partners: Partners,
    stop: Arc<AtomicBool>,
    start: Arc<StartInstant>,
    end_ns: i64,
    controls: usize,
    check: Every,
    /// Samples from the time in which the threads were waited for at the end.
    late: Batch,
    /// The program that makes the requests in place of the threads.
    program: Option<Arc<dyn RequestingProgram>>,
}

impl<'a> OwnThreads<'a> {
    /// Starts every thread and sees that each is what was asked for; they then wait for the start.
    ///
    /// # Errors
    /// A thread that could not be started or set up.
    pub fn assemble<W: Write>(
        settings: &'a RunSettings,
        plan: &Plan,
        setups: Vec<ThreadSetup>,
        snapshotter: Option<&Armed>,
        start: &Arc<StartInstant>,
        link: &mut Link<W>,
    ) -> Result<Self, MeterProblem> {
        let stop = Arc::new(AtomicBool::new(false));
        let snapshotter_busy: Arc<AtomicBool> = Arc::default();
        let (mut threads, mut partners, count) = (Vec::new(), Partners::default(), setups.len());
        let mut program = None;
        for (at, setup) in setups.into_iter().enumerate() {
            let ThreadSetup {
                cpu,
                name,
                pinned,
                scheduling,
                together,
                shortest_ns,
                waiter,
                counts,
                losses,
                partners: of_thread,
                release,
                program: of_requests,
            } = setup;
            program = of_requests.or(program);
            let record =
                Arc::new(ThreadRecord::beside(samples_capacity(settings, shortest_ns), snapshotter_busy.clone()));
            if settings.lock_memory {
                record.release_rare_buckets();
            }
            let marker = match snapshotter {
                Some(armed) if armed.snapshotter.needs_marker() => {
                    Some(armed.snapshotter.marker().map_err(MeterProblem::NoSnapshotter)?)
                }
                _ => None,
            };
            let (policy, priority) = scheduling.unwrap_or((settings.policy, settings.priority));
            let request = ThreadRequest {
                thread: at as u32,
                name,
                cpus: vec![cpu],
                pinned: pinned.unwrap_or(plan.pinned),
                policy,
                priority,
                interval_ns: settings.interval_ns,
                worst_kept: settings.worst_kept as usize,
                schedule: schedule(settings, if together { 0 } else { at }, count, snapshotter.is_some()),
            };
            let (schedule, pinned) = (request.schedule, request.pinned);
            let context = ThreadContext {
                record: record.clone(),
                waiter,
                counts: counts.clone(),
                start: start.clone(),
                stop: stop.clone(),
                marker,
            };
            let (ready, answers) = channel();
            let handle = thread::spawn(request, context, ready).map_err(MeterProblem::Thread)?;
            let answer = answers.recv().map_err(|_| MeterProblem::DiedInSetUp { cpu })?;
            let effective = answer.1.map_err(|source| MeterProblem::SetUp { cpu, source, policy })?;
            partners.start(cpu, of_thread, schedule, start, &stop)?;
            threads.push(OwnThread {
                nice: scheduling::nice_of(effective.tid).ok(),
                migrations: scheduling::migrations_of(effective.tid),
                thread: at as u32,
                cpu,
                record,
                counts,
                losses,
                release,
                scheduling: (policy, priority),
                effective,
                handle: Some(handle),
                pinned,
                policy_changed: false,
                moved: false,
                progress: LastProgress::from(i64::MAX),
            });
        }
        for thread in &threads {
            compare_policy(settings, thread, link)?;
        }
        let _ = scheduling::bind(&plan.housekeeping);
        Ok(Self {
            settings,
            threads,
            partners,
            stop,
            start: start.clone(),
            end_ns: i64::MAX,
            controls: 0,
            check: Every::new(CHECK_NS),
            late: Batch::default(),
            program,
        })
    }

    /// The threads as the capturing thread needs them.
    pub fn measured_threads(&self) -> Vec<MeasuredThread> {
        let measured = |thread: &OwnThread| MeasuredThread {
            thread: thread.thread,
            tid: thread.effective.tid,
            record: thread.record.clone(),
        };
        self.threads.iter().map(measured).collect()
    }

    /// The program that makes the requests in place of the threads.
    pub fn program(&self) -> Option<Arc<dyn RequestingProgram>> {
        self.program.clone()
    }

    fn all_finished(&self) -> bool {
        self.threads.iter().all(OwnThread::is_finished)
    }

    /// CPUs whose threads have not ended.
    fn unfinished(&self) -> Vec<u32> {
        self.threads.iter().filter(|thread| !thread.is_finished()).map(|thread| thread.cpu).collect()
    }

    /// Whether the threads that have not counted enough cycles hang, all of them.
    fn are_stalled(&mut self, now_ns: i64) -> bool {
        let interval_ns = self.settings.interval_ns;
        let unfinished = self.threads.iter_mut().filter(|thread| !thread.is_finished());
        let mut stalled =
            unfinished.map(|thread| thread.progress.is_stalled(thread.record.cycles(), interval_ns, now_ns));
        stalled.all(|stalled| stalled)
    }

    /// Ends waits that nothing else would end.
    fn release(&self) {
        let unfinished = self.threads.iter().filter(|thread| !thread.is_finished());
        unfinished.filter_map(|thread| thread.release.as_ref()).for_each(|release| release());
    }

    /// Waits for the threads and keeps their samples: they may be more than the rings hold.
    fn all_finished_within(&mut self, time: Duration) -> bool {
        let until_ns = clock::monotonic_ns() + time.as_nanos() as i64;
        while !self.all_finished() {
            self.release();
            let mut late = std::mem::take(&mut self.late);
            self.drain_books(&mut late);
            self.late = late;
            if clock::monotonic_ns() > until_ns {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }
}

impl OwnThreads<'_> {
    fn drain_books(&self, batch: &mut Batch) {
        for OwnThread { thread, record, .. } in &self.threads {
            batch.seconds.extend(std::iter::from_fn(|| record.take_second(*thread)));
            batch.add_samples(*thread, std::iter::from_fn(|| record.take_sample()));
        }
    }

    /// How long threads may take to end.
    fn ending_ns(&self) -> i64 {
        self.program.as_ref().map_or(OVERDUE_NS, |program| program.ending_ns())
    }
}

impl SampleSource for OwnThreads<'_> {
    fn threads(&self) -> Vec<EffectiveThread> {
        self.threads.iter().map(|thread| thread.effective.clone()).collect()
    }

    fn gaps(&self) -> Gaps {
        // Nothing else announces its wake-ups, and a thread that is not bound wakes anywhere.
        let announced = self.settings.method.stimulus() == Stimulus::Timer;
        let bound = self.threads.iter().filter(|thread| announced && thread.pinned);
        let dues = bound.map(|thread| (thread.cpu, thread.record.next_due.clone())).collect();
        Gaps::between(dues, self.settings.interval_ns as i64)
    }

    fn tool_tids(&self) -> Vec<i32> {
        self.partners.tids()
    }

    fn start(&mut self) -> Span {
        let ready_ns = clock::monotonic_ns() + LEAD_NS;
        let start_ns = if self.settings.dither_seed.is_some() { next_whole_ns(ready_ns) } else { ready_ns };
        let count_from_ns = start_ns.saturating_add(settle_ns(self.settings));
        self.end_ns = count_from_ns.saturating_add(duration_ns(self.settings));
        for thread in &mut self.threads {
            thread.progress = LastProgress::from(count_from_ns);
        }
        self.start.choose(count_from_ns);
        Span { start_ns, count_from_ns, end_ns: self.end_ns }
    }

    fn drain(&mut self, batch: &mut Batch) {
        batch.append(&mut self.late);
        self.drain_books(batch);
    }

    /// Another program may have changed or killed a thread meanwhile.
    fn check(&mut self, now_ns: i64) -> Vec<Problem> {
        let mut problems = Vec::new();
        if !self.check.is_due(now_ns) {
            return problems;
        }
        let died = self.partners.died().into_iter().map(|cpu| MeterProblem::PartnerDied { cpu });
        problems.extend(died.map(|died| Problem::new(Severity::Invalid, &died)));
        let changed = |cpu| MeterProblem::PartnerChanged { cpu, monotonic_ns: now_ns };
        let changed = self.partners.changed().into_iter().map(changed);
        problems.extend(changed.map(|changed| Problem::new(Severity::Invalid, &changed)));
        let severity = severity_of_refusal(self.settings);
        for thread in self.threads.iter_mut().filter(|thread| !thread.is_finished()) {
            if let Ok(now) = scheduling::policy_of(thread.effective.tid) {
                problems.extend(thread.policy_problem(now, severity, now_ns));
            }
            if let Ok(allowed) = scheduling::allowed_cpus(thread.effective.tid) {
                problems.extend(thread.affinity_problem(allowed, now_ns));
            }
            problems.extend(thread.nice_problem(severity, now_ns));
            problems.extend(thread.migration_problem(scheduling::migrations_of(thread.effective.tid), now_ns));
        }
        problems
    }

    fn progress(&self) -> Vec<ThreadProgress> {
        let progress = |thread: &OwnThread| {
            let totals = thread.record.totals();
            ThreadProgress {
                thread: thread.thread,
                cpu: thread.cpu,
                cycles: totals.cycles,
                latency_ns_last: thread.record.latency_ns_last(),
                latency_ns_max: totals.latency_ns_max.unwrap_or(0),
                missed_periods: totals.missed_periods,
            }
        };
        self.threads.iter().map(progress).collect()
    }

    fn control_pace(&self) -> ControlPace {
        ControlPace::Spread { without_end_ns: CONTROL_EVERY_NS }
    }

    /// Ordinary is what at least every second sample is like.
    fn request_control(&mut self) -> bool {
        let record = &self.threads[self.controls % self.threads.len()].record;
        self.controls += 1;
        if let Some(ceiling_ns) = record.histogram().quantile_ns(0.6) {
            record.control_ceiling_ns.store(ceiling_ns, Relaxed);
            record.control_wanted.store(true, Relaxed);
        }
        true
    }

    fn is_done(&mut self, now_ns: i64) -> Result<bool, MeterProblem> {
        if self.all_finished() {
            return Ok(true);
        }
        let overdue_ns = self.end_ns.saturating_add(self.ending_ns() + self.settings.interval_ns as i64);
        // A number of cycles is no instant: there the end is overdue once nothing is counted any more.
        let stalled = self.settings.cycles.is_some() && self.are_stalled(now_ns);
        if now_ns > overdue_ns || stalled {
            self.stop.store(true, Relaxed);
            return Err(MeterProblem::NeverWoke { cpus: self.unfinished() });
        }
        Ok(false)
    }

    fn stop(&mut self, _send: Send<'_>) -> Result<(), MeterProblem> {
        self.stop.store(true, Relaxed);
        let interval = Duration::from_nanos(self.settings.interval_ns);
        let time = self.program.as_ref().map_or(STOP_TIME, |program| Duration::from_nanos(program.ending_ns() as u64));
        match self.all_finished_within(time + interval) {
            true => Ok(()),
            false => Err(MeterProblem::NeverWoke { cpus: self.unfinished() }),
        }
    }

    fn losses(&self) -> Vec<Loss> {
        let losses = |thread: &OwnThread| {
            let cpu = thread.cpu;
            let loss = |kind, count, detail| Loss { kind, count, detail };
            let slow = format!("of CPU {cpu}, because the host or the disk was slow");
            let silent = format!("to stimuli of CPU {cpu}: no signal came back, so there is no latency");
            let stray = format!("on CPU {cpu}, to no stimulus or the second to one");
            let unstamped =
                format!("of interrupts on CPU {cpu}: the kernel wrote none, so there is no latency of them");
            let of_all = [
                loss(LossKind::Records, thread.record.totals().records_dropped, slow),
                loss(LossKind::Answers, thread.counts.unanswered.load(Relaxed), silent),
                loss(LossKind::StrayAnswers, thread.counts.stray.load(Relaxed), stray),
                loss(LossKind::TimeStamps, thread.counts.unstamped.load(Relaxed), unstamped),
            ];
            let of_method = thread.losses.iter().map(|counter| counter.loss());
            of_all.into_iter().chain(of_method).collect::<Vec<_>>()
        };
        self.threads.iter().flat_map(losses).filter(|loss| loss.count > 0).collect()
    }

    fn take_file(&mut self) -> Option<(FileKind, Vec<u8>)> {
        self.program.as_ref()?.result()
    }

    fn send_totals(&mut self, last: bool, send: Send<'_>) {
        let severity = severity_of_refusal(self.settings);
        if last && let Some(failure) = self.program.as_ref().and_then(|program| program.failure()) {
            send(Message::Problem(failure));
        }
        for thread in &mut self.threads {
            // One that hangs is not waited for: its totals are sent as far as they go.
            let joined = thread.handle.take_if(|handle| last && handle.is_finished()).map(JoinHandle::join);
            let Measured { worst, end, gone } =
                joined.map_or(Ok(Measured::default()), |ended| ended).unwrap_or_else(|_| {
                    let died = MeterProblem::MeasuringDied { cpu: thread.cpu };
                    send(Message::Problem(Problem::new(Severity::Invalid, &died)));
                    Measured::default()
                });
            if gone && self.program.is_none() {
                let gone = MeterProblem::StimulusGone { cpu: thread.cpu };
                send(Message::Problem(Problem::new(Severity::Invalid, &gone)));
            }
            for problem in end.map(|end| thread.end_problems(end, severity)).unwrap_or_default() {
                send(Message::Problem(problem));
            }
            send(Message::Thread {
                thread: thread.thread,
                cpu: thread.cpu,
                totals: thread.record.totals(),
                histogram: thread.record.histogram(),
                worst,
            });
        }
    }
}

/// Threads that are never started end.
impl Drop for OwnThreads<'_> {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        self.start.cancel();
    }
}

fn settle_ns(settings: &RunSettings) -> i64 {
    settings.settle_ns.min(i64::MAX as u64) as i64
}

fn duration_ns(settings: &RunSettings) -> i64 {
    settings.duration_ns.map_or(i64::MAX, |ns| ns.min(i64::MAX as u64) as i64)
}

/// The schedule of one of several threads, from the instant on from which wake-ups count. Threads start a fraction of the
/// interval apart, so that they do not all wake in the same instant.
fn schedule(settings: &RunSettings, at: usize, count: usize, traced: bool) -> Schedule {
    let interval_ns = settings.interval_ns as i64;
    Schedule {
        interval_ns,
        dither: settings.dither_seed.map(|seed| Dither::new(seed, at as u64)),
        first_due_ns: interval_ns * at as i64 / count as i64 - settle_ns(settings),
        count_from_ns: 0,
        end_ns: duration_ns(settings),
        cycles_max: settings.cycles.unwrap_or(u64::MAX),
        limit_ns: settings.limit_ns.unwrap_or(i64::MAX),
        spike_threshold_ns: settings.trace.threshold_ns,
        stretches: stretches(&settings.trace),
        traced,
    }
}

/// The next instant at or after this one that is a multiple of [`WHOLE_NS`].
fn next_whole_ns(instant_ns: i64) -> i64 {
    instant_ns + (WHOLE_NS - instant_ns % WHOLE_NS) % WHOLE_NS
}

/// Room for the samples of some seconds; `shortest_ns`: their distance, if it is not the interval of the run.
fn samples_capacity(settings: &RunSettings, shortest_ns: Option<u64>) -> usize {
    if !settings.keeps_every_sample() {
        return 0;
    }
    let interval_ns = shortest_ns.map_or(settings.interval_ns, |shortest_ns| shortest_ns.min(settings.interval_ns));
    (4_000_000_000 / interval_ns.max(1)).clamp(1024, 1 << 20) as usize
}

fn compare_policy<W: Write>(
    settings: &RunSettings,
    thread: &OwnThread,
    link: &mut Link<W>,
) -> Result<(), MeterProblem> {
    let effective = &thread.effective;
    let (policy, priority) = thread.scheduling;
    let realtime = matches!(policy, Policy::Fifo | Policy::Rr);
    if effective.policy != policy || (realtime && effective.priority != priority) {
        let kind = MeterProblem::Scheduling {
            cpu: thread.cpu,
            effective: (effective.policy, effective.priority),
            asked: (policy, priority),
        };
        return refused(settings, kind, link);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_instant_is_never_before() {
        assert_eq!(next_whole_ns(5_011_468_996), 5_100_000_000);
        assert_eq!(next_whole_ns(5_100_000_000), 5_100_000_000);
        assert_eq!(next_whole_ns(5_100_000_001), 5_200_000_000);
    }

    #[test]
    fn threads_are_spread_over_the_interval_and_settle_before_they_count() {
        let settings =
            RunSettings { settle_ns: 5_000, interval_ns: 9_000, duration_ns: None, ..RunSettings::default() };
        let first_due_ns = |at| schedule(&settings, at, 3, false).starting_at(1_000_000).first_due_ns;
        assert_eq!([0, 1, 2].map(first_due_ns), [995_000, 998_000, 1_001_000]);
        let started = schedule(&settings, 0, 3, false).starting_at(1_000_000);
        assert_eq!((started.count_from_ns, started.end_ns), (1_000_000, i64::MAX));
    }
}
