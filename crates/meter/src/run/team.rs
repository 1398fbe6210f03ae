//! The threads of a run: one that measures on each CPU, one that captures, all ready before the first sample.

use super::Failure;
use super::effective::effective;
use super::machine::{self, Machine};
use super::plan::Plan;
use crate::environment::{self, OwnPriority};
use crate::kernel::{clock, scheduling};
use crate::kernel_tracer::setup;
use crate::kernel_tracer::tracing::KernelTracing;
use crate::link::Link;
use crate::measure::books::Books;
use crate::measure::cycle::Schedule;
use crate::measure::dither::Dither;
use crate::measure::thread::{self, ThreadContext, ThreadRequest, policy_words};
use crate::trace::capture::Watched;
use crate::trace::capturing::Capturing;
use crate::trace::recorder::Armed;
use archive::message::Message;
use archive::sample::Sample;
use archive::settings::{EffectiveSettings, EffectiveThread, Policy, RunSettings};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time for every thread to get ready after the start instant was chosen.
const LEAD_NS: i64 = 20_000_000;
/// Instants drawn by a seed begin at a multiple of this, so that in virtual time a seed stands for the same instants
/// whatever the kernel, and however long it took to get ready.
const WHOLE_NS: i64 = 100_000_000;

/// One measuring thread as the main thread sees it.
pub struct Member {
    pub thread: u32,
    pub cpu: u32,
    pub books: Arc<Books>,
    pub effective: EffectiveThread,
    pub handle: JoinHandle<Vec<Sample>>,
}

/// All threads of a run.
pub struct Team {
    pub members: Vec<Member>,
    pub capturing: Option<Capturing>,
    /// Reads the kernel's own tracers.
    pub kernel_tracing: Option<KernelTracing>,
    pub stop: Arc<AtomicBool>,
    pub schedule: Arc<OnceLock<Vec<Schedule>>>,
    /// First wake-up, first one that counts, and the end if there is one.
    pub start_ns: i64,
    pub count_from_ns: i64,
    pub end_ns: i64,
}

impl Team {
    /// Starts every thread and sees that each is what was asked for; the measuring threads then wait for [`Team::begin`].
    ///
    /// # Errors
    /// A thread that could not be started or set up.
    pub fn assemble<W: Write>(
        settings: &RunSettings,
        plan: &Plan,
        recorder: Option<Armed>,
        link: &mut Link<W>,
    ) -> Result<Self, Failure> {
        let stop = Arc::new(AtomicBool::new(false));
        let schedule = Arc::new(OnceLock::new());
        let mut members = Vec::new();
        let (ready, answers) = channel();
        let recorder_busy: Arc<AtomicBool> = Arc::default();
        for (at, cpu) in plan.measured.iter().enumerate() {
            let books = Arc::new(Books::beside(samples_capacity(settings), recorder_busy.clone()));
            let marker = match &recorder {
                Some(armed) if armed.recorder.needs_marker() => {
                    Some(armed.recorder.marker().map_err(|why| Failure::new(why, "use --trace off"))?)
                }
                _ => None,
            };
            let request = ThreadRequest {
                thread: at as u32,
                cpus: vec![*cpu],
                pinned: plan.pinned,
                policy: settings.policy,
                priority: settings.priority,
                interval_ns: settings.interval_ns,
                worst_kept: settings.worst_kept as usize,
            };
            let context =
                ThreadContext { books: books.clone(), schedule: schedule.clone(), stop: stop.clone(), marker };
            let handle = thread::spawn(request, context, ready.clone()).map_err(|error| {
                Failure::new(format!("failed to start a measuring thread: {error}"), "free some memory or threads")
            })?;
            members.push((at as u32, *cpu, books, handle));
        }
        drop(ready);
        let mut effective: Vec<Option<EffectiveThread>> = vec![None; members.len()];
        for (thread, answer) in answers {
            let cpu = plan.measured[thread as usize];
            let answer = answer.map_err(|why| {
                stop.store(true, Relaxed);
                Failure::new(format!("the measuring thread of CPU {cpu} {why}"), mend_for(settings))
            })?;
            effective[thread as usize] = Some(answer);
        }
        let members: Vec<Member> = members
            .into_iter()
            .zip(effective)
            .map(|((thread, cpu, books, handle), effective)| {
                let effective = effective.ok_or_else(|| {
                    Failure::new(format!("the measuring thread of CPU {cpu} died while it was set up"), "")
                })?;
                Ok(Member { thread, cpu, books, effective, handle })
            })
            .collect::<Result<_, Failure>>()?;
        for member in &members {
            admit(settings, member, link);
        }
        let mut team = Self {
            members,
            capturing: None,
            kernel_tracing: None,
            stop,
            schedule,
            start_ns: 0,
            count_from_ns: 0,
            end_ns: i64::MAX,
        };
        let _ = scheduling::bind(&plan.housekeeping);
        if let Some(armed) = recorder {
            team.capturing = Some(team.start_capturing(settings, plan, armed)?);
        }
        Ok(team)
    }

    fn start_capturing(&self, settings: &RunSettings, plan: &Plan, armed: Armed) -> Result<Capturing, Failure> {
        let watched = self
            .members
            .iter()
            .map(|member| Watched { thread: member.thread, tid: member.effective.tid, books: member.books.clone() })
            .collect();
        let cpus = plan.housekeeping.clone();
        Capturing::start(armed, settings.trace.clone(), watched, cpus, self.schedule.clone()).map_err(|why| {
            self.stop.store(true, Relaxed);
            Failure::new(format!("the recorder did not start: {why}"), "use --trace off to measure without it")
        })
    }

    /// Starts the thread that reads the kernel's own tracers, if there are any.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn start_tracers(&mut self, plan: &Plan, armed: Option<setup::Armed>) -> Result<(), Failure> {
        let Some(armed) = armed else { return Ok(()) };
        let started = KernelTracing::start(armed, plan.housekeeping.clone(), self.schedule.clone());
        self.kernel_tracing = Some(started.map_err(|why| {
            self.stop.store(true, Relaxed);
            Failure::new(format!("the kernel's tracers cannot be read: {why}"), "free some threads")
        })?);
        Ok(())
    }

    /// Tells the host what the run really runs with, then starts the clock.
    pub fn announce<W: Write>(&mut self, settings: &RunSettings, machine: &Machine, link: &mut Link<W>) {
        let own_tids: Vec<i32> = self.members.iter().map(|member| member.effective.tid).collect();
        let mut tool_tids = vec![scheduling::thread_id()];
        tool_tids.extend(self.capturing.as_ref().map(|capturing| capturing.tid));
        tool_tids.extend(self.kernel_tracing.as_ref().map(|tracing| tracing.tid));
        let exclude_tids: Vec<i32> = own_tids.iter().chain(&tool_tids).copied().collect();
        let environment =
            environment::collect(Path::new("/"), &OwnPriority { priority: settings.priority, exclude_tids });
        link.send(&Message::Environment(Box::new(environment)));
        link.send(&Message::Effective(Box::new(EffectiveSettings {
            threads: self.members.iter().map(|member| member.effective.clone()).collect(),
            tracer: settings.trace.tracer.as_ref().map(|tracer| tracer.name.clone()),
            ..effective(machine, self.capturing.as_ref(), tool_tids)
        })));
        self.begin(settings);
    }

    /// Gives every thread its schedule. Threads start a fraction of the interval apart, so that they do not all wake in
    /// the same instant.
    fn begin(&mut self, settings: &RunSettings) {
        let ready_ns = clock::monotonic_ns() + LEAD_NS;
        let start_ns = if settings.dither_seed.is_some() { next_whole_ns(ready_ns) } else { ready_ns };
        self.start_ns = start_ns;
        self.count_from_ns = start_ns.saturating_add(settings.settle_ns.min(i64::MAX as u64) as i64);
        let duration_ns = settings.duration_ns.map(|ns| ns.min(i64::MAX as u64) as i64);
        self.end_ns = duration_ns.map_or(i64::MAX, |ns| self.count_from_ns.saturating_add(ns));
        let interval_ns = settings.interval_ns as i64;
        let count = self.members.len() as i64;
        let schedules = (0..count)
            .map(|at| Schedule {
                interval_ns,
                dither: settings.dither_seed.map(|seed| Dither::new(seed, at as u64)),
                first_due_ns: start_ns + interval_ns * at / count,
                count_from_ns: self.count_from_ns,
                end_ns: self.end_ns,
                cycles_max: settings.cycles.unwrap_or(u64::MAX),
                limit_ns: settings.limit_ns.unwrap_or(i64::MAX),
                spike_threshold_ns: settings.trace.threshold_ns,
                traced: self.capturing.is_some(),
            })
            .collect();
        // Set once, here, by the only thread that can.
        let _ = self.schedule.set(schedules);
    }

    /// Waits until every measuring thread is done, at most so long.
    pub fn all_done_within(&self, time: Duration) -> bool {
        let until_ns = clock::monotonic_ns() + time.as_nanos() as i64;
        while self.members.iter().any(|member| !member.handle.is_finished()) {
            if clock::monotonic_ns() > until_ns {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }
}

/// The next instant at or after this one that is a multiple of [`WHOLE_NS`].
fn next_whole_ns(instant_ns: i64) -> i64 {
    instant_ns + (WHOLE_NS - instant_ns % WHOLE_NS) % WHOLE_NS
}

fn samples_capacity(settings: &RunSettings) -> usize {
    if settings.every_sample { (4_000_000_000 / settings.interval_ns.max(1)).clamp(1024, 1 << 20) as usize } else { 0 }
}

fn admit<W: Write>(settings: &RunSettings, member: &Member, link: &mut Link<W>) {
    let effective = &member.effective;
    let realtime = matches!(settings.policy, Policy::Fifo | Policy::Rr);
    if effective.policy != settings.policy || (realtime && effective.priority != settings.priority) {
        link.problem(
            machine::refusal(settings),
            format!(
                "CPU {} is measured as {} although {} was asked for: its latencies say nothing about a real-time task",
                member.cpu,
                policy_words(effective.policy, effective.priority),
                policy_words(settings.policy, settings.priority)
            ),
            mend_for(settings),
        );
    }
}

fn mend_for(settings: &RunSettings) -> &'static str {
    match settings.policy {
        Policy::Other => "",
        Policy::Deadline => "run as root; the kernel admits deadline tasks only with room in sched_rt_runtime_us",
        Policy::Fifo | Policy::Rr => {
            "run as root, or `setcap cap_sys_nice,cap_ipc_lock+ep tardy-meter`, or raise `ulimit -r`; \
             in a container add --cap-add SYS_NICE"
        }
    }
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
}
