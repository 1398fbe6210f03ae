//! The main thread while the others measure: drains their books, sends what is new, listens for the host and signals.

use super::Lines;
use super::team::Team;
use crate::counters::Counters;
use crate::kernel::{clock, scheduling};
use crate::kernel_tracer::tracing::{Found, KernelTracing};
use crate::link::{Control, Link, read_control};
use crate::load_reports;
use crate::trace::capture::Captured;
use crate::trace::capturing::Capturing;
use archive::message::{FileKind, Message, RunPhase, Severity, ThreadProgress};
use archive::sample::Second;
use archive::settings::RunSettings;
use load::RunningLoads;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::atomic::Ordering::Relaxed;

const LOOK_NS: i64 = 100_000_000;
const PROGRESS_NS: i64 = 250_000_000;
const SECOND_NS: i64 = 1_000_000_000;
const FIRST_CHECKPOINT_NS: i64 = 1_000_000_000;
const LONGEST_CHECKPOINT_NS: i64 = 600_000_000_000;
/// Without an end to spread them over, controls are taken this far apart.
const CONTROL_EVERY_NS: i64 = 30_000_000_000;
/// A measuring thread that is still asleep this long after the end will not wake.
const OVERDUE_NS: i64 = 10_000_000_000;

/// Why the measurement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    AsPlanned,
    Asked,
    LinkLost,
    /// A measuring thread never came back.
    Overdue,
}

/// A file of every sample that grows during the run.
struct SampleFile {
    file: u32,
    offset: u64,
}

/// What the main thread keeps while watching.
pub struct Watch {
    pub loads: RunningLoads,
    counters: Option<Counters>,
    counters_wanted: bool,
    interval_ns: i64,
    controls_left: u32,
    controls_asked: u32,
    control_at_ns: i64,
    progress_at_ns: i64,
    slow_at_ns: i64,
    checkpoint_at_ns: i64,
    checkpoint_every_ns: i64,
    seconds: Vec<Second>,
    samples: Vec<SampleFile>,
    every_sample: bool,
    complained: BTreeSet<String>,
    measuring: bool,
    /// Severity of a policy that changed under way.
    refusal: Severity,
}

impl Watch {
    pub fn new(settings: &RunSettings, loads: RunningLoads) -> Self {
        Self {
            loads,
            counters: None,
            counters_wanted: settings.counters,
            interval_ns: settings.interval_ns as i64,
            controls_left: settings.trace.controls,
            controls_asked: settings.trace.controls,
            control_at_ns: 0,
            progress_at_ns: 0,
            slow_at_ns: 0,
            checkpoint_at_ns: 0,
            checkpoint_every_ns: FIRST_CHECKPOINT_NS,
            seconds: Vec::new(),
            samples: Vec::new(),
            every_sample: settings.every_sample,
            complained: BTreeSet::new(),
            measuring: false,
            refusal: super::machine::refusal(settings),
        }
    }

    /// Watches until every thread is done or somebody says stop. The threads have been told to stop when it returns.
    pub fn until_done<W: Write>(&mut self, team: &mut Team, lines: &mut Lines<W>) -> Stopped {
        self.checkpoint_at_ns = team.count_from_ns + self.checkpoint_every_ns;
        self.control_at_ns = self.next_control_ns(team, 0);
        loop {
            let control = listen(lines);
            let now_ns = clock::monotonic_ns();
            if !self.measuring && now_ns >= team.count_from_ns {
                self.measuring = true;
                self.begin_counters(team);
                lines.link.send(&Message::Phase { phase: RunPhase::Measure, monotonic_ns: team.count_from_ns });
            }
            self.drain(team, &mut lines.link);
            self.tell(team, &mut lines.link, now_ns);
            let stopped = match control {
                Some(Control::Stop) => Some(Stopped::Asked),
                Some(Control::Gone) => Some(Stopped::LinkLost),
                None if lines.link.is_broken() => Some(Stopped::LinkLost),
                None if team.members.iter().all(|member| member.handle.is_finished()) => Some(Stopped::AsPlanned),
                None if now_ns > team.end_ns.saturating_add(OVERDUE_NS + self.interval_ns) => Some(Stopped::Overdue),
                None => None,
            };
            if let Some(stopped) = stopped {
                team.stop.store(true, Relaxed);
                let last = self.counters.as_mut().and_then(|counters| counters.last_look(now_ns));
                lines.link.send_counters(last);
                return stopped;
            }
        }
    }

    /// Takes everything out of the queues and sends it.
    pub fn drain<W: Write>(&mut self, team: &mut Team, link: &mut Link<W>) {
        for member in &team.members {
            self.seconds.extend(std::iter::from_fn(|| member.books.take_second(member.thread)));
        }
        if !self.seconds.is_empty() {
            link.send(&Message::Seconds(std::mem::take(&mut self.seconds)));
        }
        if self.every_sample {
            self.drain_samples(team, link);
        }
        if let Some(capturing) = &mut team.capturing {
            forward_captured(capturing, link);
        }
        if let Some(tracing) = &team.kernel_tracing {
            forward_found(tracing, link);
        }
    }

    fn drain_samples<W: Write>(&mut self, team: &Team, link: &mut Link<W>) {
        if self.samples.is_empty() {
            let begin = |thread| SampleFile { file: link.begin_file(FileKind::Samples { thread }), offset: 0 };
            self.samples = team.members.iter().map(|member| member.thread).map(begin).collect();
        }
        for (member, samples) in team.members.iter().zip(&mut self.samples) {
            let mut bytes = Vec::new();
            while let Some((due_ns, latency_ns)) = member.books.take_sample() {
                bytes.extend_from_slice(&due_ns.to_le_bytes());
                bytes.extend_from_slice(&latency_ns.to_le_bytes());
            }
            if !bytes.is_empty() {
                link.chunk(samples.file, samples.offset, &bytes);
                samples.offset += bytes.len() as u64;
            }
        }
    }

    /// Ends the files that grew during the run.
    pub fn close_samples<W: Write>(&mut self, link: &mut Link<W>) {
        for samples in self.samples.drain(..) {
            link.send(&Message::FileEnd { file: samples.file, bytes: samples.offset });
        }
    }

    fn tell<W: Write>(&mut self, team: &Team, link: &mut Link<W>, now_ns: i64) {
        if now_ns >= self.progress_at_ns {
            self.progress_at_ns = now_ns + PROGRESS_NS;
            link.send(&progress(team));
        }
        if now_ns >= self.slow_at_ns {
            self.slow_at_ns = now_ns + SECOND_NS;
            self.check_loads(link);
            self.check_threads(team, link);
        }
        link.send_counters(self.counters.as_mut().and_then(|counters| counters.look_when_due(now_ns)));
        if now_ns >= self.checkpoint_at_ns {
            self.checkpoint_every_ns = (self.checkpoint_every_ns * 2).min(LONGEST_CHECKPOINT_NS);
            self.checkpoint_at_ns = now_ns + self.checkpoint_every_ns;
            send_totals(team, link);
        }
        if self.controls_left > 0 && self.measuring && now_ns >= self.control_at_ns {
            self.ask_for_control(team);
            self.control_at_ns = self.next_control_ns(team, now_ns);
        }
    }

    fn begin_counters(&mut self, team: &Team) {
        let threads: Vec<i32> = team.members.iter().map(|member| member.effective.tid).collect();
        self.counters = self.counters_wanted.then(|| Counters::begin(&threads));
    }

    /// Controls lie in the middle of equal parts of the run.
    fn next_control_ns(&self, team: &Team, now_ns: i64) -> i64 {
        if team.end_ns == i64::MAX {
            return now_ns.max(team.count_from_ns) + CONTROL_EVERY_NS;
        }
        let length_ns = team.end_ns - team.count_from_ns;
        let taken = i64::from(self.controls_asked - self.controls_left);
        team.count_from_ns + length_ns / (2 * i64::from(self.controls_asked.max(1))) * (2 * taken + 1)
    }

    /// Ordinary is what at least every second sample is like.
    fn ask_for_control(&mut self, team: &Team) {
        let taken = (self.controls_asked - self.controls_left) as usize;
        self.controls_left -= 1;
        let member = &team.members[taken % team.members.len()];
        if let Some(ceiling_ns) = member.books.histogram().quantile_ns(0.6) {
            member.books.control_ceiling_ns.store(ceiling_ns, Relaxed);
            member.books.control_wanted.store(true, Relaxed);
        }
    }

    /// A load that died or does nothing makes the run something else than what was asked for.
    pub fn check_loads<W: Write>(&mut self, link: &mut Link<W>) {
        load_reports::send(self.loads.sample(), &mut self.complained, link);
    }

    /// Ends the loads; what they did counts until now.
    pub fn stop_loads<W: Write>(&mut self, link: &mut Link<W>) {
        load_reports::send(std::mem::take(&mut self.loads).stop(), &mut self.complained, link);
    }

    /// Somebody may have changed or killed a thread under way.
    fn check_threads<W: Write>(&mut self, team: &Team, link: &mut Link<W>) {
        for member in team.members.iter().filter(|member| !member.handle.is_finished()) {
            let Ok((policy, priority)) = scheduling::policy_of(member.effective.tid) else { continue };
            if (policy, priority) != (member.effective.policy, member.effective.priority)
                && self.complained.insert(format!("thread {}", member.thread))
            {
                let text = format!(
                    "somebody changed the scheduling of the measuring thread of CPU {} during the run",
                    member.cpu
                );
                link.problem(self.refusal, text, "find out who (rtkit, systemd, a chrt in a script) and run again");
            }
        }
    }
}

/// Sends what was captured since the last time.
pub(crate) fn forward_captured<W: Write>(capturing: &mut Capturing, link: &mut Link<W>) {
    for captured in capturing.received() {
        match captured {
            Captured::Spike { mut spike, parts } => {
                if let Some(snapshot) = &mut spike.snapshot {
                    let trace = capturing.trace_dat(&parts);
                    snapshot.trace_bytes = trace.len() as u64;
                    link.file(FileKind::SpikeTrace { spike: spike.number }, &trace);
                    capturing.done_with(&parts);
                }
                link.send(&Message::Spike(spike));
            }
            Captured::Broken { why } => {
                let text = format!("no spike gets a snapshot: {why}");
                link.problem(Severity::Degraded, text, "use --trace flip, which needs nothing of the kernel");
            }
            Captured::Dropped { number } => {
                link.send(&Message::SpikeDropped { number, why: "larger spikes took its place".into() });
            }
        }
    }
}

/// Sends what the kernel's own tracers kept and measured.
fn forward_found<W: Write>(tracing: &KernelTracing, link: &mut Link<W>) {
    for found in tracing.received() {
        match found {
            Found::Latency(copied) => {
                link.file(FileKind::LatencyTrace { number: copied.trace.number }, copied.text.as_bytes());
                link.send(&Message::LatencyTrace(Box::new(copied.trace)));
            }
            Found::Series(series) => link.send(&Message::KernelSeries(series)),
            Found::NotKept(count) => {
                link.loss("latency traces", count, "above the threshold, not kept (raise --tracer-threshold)");
            }
            Found::Broken(why) => {
                let text = format!("the kernel's tracers could not be read to the end: {why}");
                link.problem(Severity::Degraded, text, "look into the kernel log");
            }
        }
    }
}

/// Totals, histogram and progress so far of every thread.
pub fn send_totals<W: Write>(team: &Team, link: &mut Link<W>) {
    for member in &team.members {
        link.send(&Message::Thread {
            thread: member.thread,
            cpu: member.cpu,
            totals: member.books.totals(),
            histogram: member.books.histogram(),
            worst: Vec::new(),
        });
    }
}

fn progress(team: &Team) -> Message {
    let threads = team
        .members
        .iter()
        .map(|member| {
            let totals = member.books.totals();
            ThreadProgress {
                thread: member.thread,
                cpu: member.cpu,
                cycles: totals.cycles,
                latency_ns_last: member.books.latency_ns_last(),
                latency_ns_max: totals.latency_ns_max.unwrap_or(0),
                missed_periods: totals.missed_periods,
            }
        })
        .collect();
    let snapshots = team.capturing.as_ref().map_or(0, |capturing| capturing.counters.snapshots.load(Relaxed));
    Message::Progress { threads, snapshots }
}

/// Sleeps until the host or a signal says something, or it is time to look around.
pub(crate) fn listen<W: Write>(lines: &mut Lines<W>) -> Option<Control> {
    let mut watched = [PollFd::new(&lines.control, PollFlags::IN), PollFd::new(&lines.signals, PollFlags::IN)];
    let timeout = Timespec { tv_sec: 0, tv_nsec: LOOK_NS };
    if !matches!(poll(&mut watched, Some(&timeout)), Ok(count) if count > 0) {
        return None;
    }
    let (said, signalled) = (!watched[0].revents().is_empty(), !watched[1].revents().is_empty());
    if signalled {
        return Some(Control::Stop);
    }
    said.then(|| read_control(&mut lines.control)).flatten()
}
