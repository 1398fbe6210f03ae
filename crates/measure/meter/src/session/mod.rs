//! One measurement: starts a source of samples, drains it, sends what is new, listens for the host and signals, ends it.
//!
//! [`source`] is what a session asks of any source; [`own_threads`] is the source of our own measuring threads, and
//! [`crate::watch`] that of another program's. [`forward`] sends what was captured beside them, [`sample_files`] every
//! sample, [`controls`] times the ordinary samples among the captured ones, [`clocks`] sees clocks that were set.

pub mod clocks;
mod co_running;
mod controls;
mod effective;
mod forward;
mod neighbour;
mod own_thread;
pub mod own_threads;
mod partners;
pub mod plan;
mod sample_files;
mod settings;
pub mod source;
mod stall;

use crate::audit::AuditRecording;
use crate::block_path::BlockPathRecording;
use crate::cadence::{Checkpoints, Every};
use crate::counters::Counters;
use crate::counters::energy::EnergyMeters;
use crate::environment::tree::Tree;
use crate::environment::{self, OwnPriority};
use crate::gaps::Gaps;
use crate::journal::journal_directory;
use crate::kernel::{clock, kept_memory, memory, scheduling};
use crate::kernel_tracer::tracing::KernelTracing;
use crate::link::{Asked, Control, Lines, Link};
use crate::load_reports;
use crate::problem::MeterProblem;
use crate::trace::capturing::Capturing;
use archive::message::{Ending, LossKind, Message, RunPhase, Severity};
use archive::method::{MethodRequest, Role};
use archive::settings::RunSettings;
use archive::spike::SaveRequest;
use archive::watched::guard::EventKind;
use clocks::Clocks;
use co_running::CoRunning;
use controls::Controls;
use effective::effective;
use load::RunningLoads;
use sample_files::SampleFiles;
pub use settings::HeldSettings;
use source::{Batch, SampleSource, Span};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

const PROGRESS_NS: i64 = 250_000_000;
const LOADS_NS: i64 = 1_000_000_000;
const SETTINGS_NS: i64 = 1_000_000_000;
/// Another run or tracer that matters lasts longer than this.
const CO_RUNNING_NS: i64 = 1_000_000_000;
/// Looks at other programs and at each event of the trace cost more than all the rest of a guard.
const GUARD_PROGRESS_NS: i64 = 1_000_000_000;
const GUARD_CHECKS_NS: i64 = 60_000_000_000;
/// The snapshot of a late wake-up takes the wake-ups before it out of the buffers; after a second there are others.
const SAVE_WAIT_NS: i64 = 3_000_000_000;

/// Name of the program on the host.
const HOST_NAME: &str = "tardy";

/// Why the measurement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopped {
    AsPlanned,
    Asked,
    LinkLost,
    LoadDied,
}

/// When loads that are ready start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadStart {
    Now,
    /// When the measurement is prepared: on a busy machine the preparation must not compete with them.
    OnceReady,
    /// At the first wake-up, so that all that happens in virtual time from then on begins at one instant.
    WithSource,
}

/// Loads that are ready, and when they start.
pub struct Loads {
    pub running: RunningLoads,
    pub start: LoadStart,
}

/// Recorders, loads and settings that a session holds beside its source.
pub struct SessionResources {
    pub capturing: Option<Capturing>,
    pub tracing: Option<KernelTracing>,
    pub audit: Option<AuditRecording>,
    pub block_path: Option<BlockPathRecording>,
    pub loads: Loads,
    /// Value held in /dev/cpu_dma_latency, in µs.
    pub cpu_dma_latency_us: Option<i32>,
    /// As they were before anything was started.
    pub clocks: Clocks,
    /// Settings of the machine that the run changed.
    pub settings: HeldSettings,
}

/// A measurement that is ready to start.
pub struct Session<'a> {
    settings: &'a RunSettings,
    source: Box<dyn SampleSource + 'a>,
    resources: SessionResources,
    counters: Option<Counters>,
    batch: Batch,
    samples: SampleFiles,
    complained: BTreeSet<String>,
    co_running: CoRunning,
    measuring: bool,
    /// A load has died, so that the figures are not those that were asked for.
    load_died: bool,
    /// A request to keep the last seconds, and until when it waits for a wake-up to keep.
    saving: Option<(SaveRequest, i64)>,
}

/// When the loop makes its reports and checks.
struct ReportSchedule {
    progress: Every,
    loads: Every,
    settings: Every,
    co_running: Every,
    checkpoints: Checkpoints,
    controls: Controls,
}

/// Whether the run has one end of a wire.
fn has_a_role(method: &MethodRequest) -> bool {
    matches!(method.end(), Some(Role::Answer | Role::Stimulus))
}

impl<'a> Session<'a> {
    pub fn new(settings: &'a RunSettings, source: impl SampleSource + 'a, resources: SessionResources) -> Self {
        Self {
            settings,
            source: Box::new(source),
            resources,
            counters: None,
            batch: Batch::default(),
            samples: SampleFiles::default(),
            complained: BTreeSet::new(),
            co_running: CoRunning::before(journal_directory(), Path::new("/"), has_a_role(&settings.method)),
            measuring: false,
            load_died: false,
            saving: None,
        }
    }

    /// Measures to the end. Answers how the measurement ended.
    ///
    /// # Errors
    /// A thread of the source that never came back.
    pub fn run<W: Write>(mut self, lines: &mut Lines<W>) -> Result<Ending, MeterProblem> {
        self.announce(&mut lines.link);
        if self.resources.loads.start == LoadStart::OnceReady {
            self.resources.loads.running.start_at(clock::monotonic_ns());
        }
        if self.settings.lock_memory {
            // The description of the machine took more memory than anything that is still to come.
            kept_memory::release();
            memory::release_unwind_tables();
            memory::lock_new_memory_when_touched();
        }
        if let Some(audit) = &mut self.resources.audit {
            audit.begin().map_err(MeterProblem::AuditNeedsTracing)?;
        }
        if let Some(block_path) = &mut self.resources.block_path {
            block_path.begin().map_err(MeterProblem::RequestsNotRecorded)?;
        }
        let energy = self.settings.counters.then(|| EnergyMeters::begin(Path::new("/")));
        lines.phase(RunPhase::Settle);
        let span = self.source.start();
        lines.link.send_in(self.source.gaps());
        if self.resources.loads.start == LoadStart::WithSource {
            self.resources.loads.running.start_at(span.start_ns);
        }
        let stopped = self.until_done(span, lines);
        // A loaded machine may notice the end late; the measurement ended when it was due to.
        let now_ns = clock::monotonic_ns();
        let ended_ns = if matches!(stopped, Ok(Stopped::AsPlanned)) { span.end_ns.min(now_ns) } else { now_ns };
        lines.link.send_in(Gaps::default());
        lines.link.send(&Message::Phase { phase: RunPhase::Collect, monotonic_ns: ended_ns });
        if let Some(used) = energy.map(EnergyMeters::end).filter(|used| !used.is_empty()) {
            lines.link.send(&Message::Energy(used));
        }
        // Where one thread hangs, what the others measured is sent all the same.
        let collected = self.collect(&mut lines.link);
        Ok(match stopped.and_then(|stopped| collected.map(|()| stopped))? {
            Stopped::AsPlanned => Ending::Complete,
            Stopped::Asked => Ending::Stopped,
            Stopped::LoadDied => Ending::Failed,
            Stopped::LinkLost => Ending::LinkLost,
        })
    }

    /// Sends what the run really runs with, and on what machine.
    fn announce<W: Write>(&self, link: &mut Link<W>) {
        let SessionResources { capturing, tracing, cpu_dma_latency_us, .. } = &self.resources;
        let mut tool_tids = vec![scheduling::thread_id()];
        tool_tids.extend(capturing.as_ref().map(|capturing| capturing.tid));
        tool_tids.extend(tracing.as_ref().map(|tracing| tracing.tid));
        tool_tids.extend(self.source.tool_tids());
        tool_tids.extend(host_threads(&Tree::new(Path::new("/"))));
        let measuring = self.source.threads().into_iter().map(|thread| thread.tid);
        let exclude_tids = measuring.chain(tool_tids.iter().copied()).collect();
        let own = OwnPriority { priority: self.settings.priority, exclude_tids };
        link.send(&Message::Environment(Box::new(environment::collect(Path::new("/"), &own))));
        let effective = effective(self.settings, &*self.source, capturing.as_ref(), *cpu_dma_latency_us, tool_tids);
        link.send(&Message::Effective(Box::new(effective)));
    }

    fn until_done<W: Write>(&mut self, span: Span, lines: &mut Lines<W>) -> Result<Stopped, MeterProblem> {
        let guard = self.settings.watch.as_ref().and_then(|watch| watch.guard.as_ref());
        let guards = guard.is_some();
        let checkpoints = Checkpoints::from(span.count_from_ns);
        let longest_ns = guard.and_then(|guard| i64::try_from(guard.totals_ns?).ok());
        let mut schedule = ReportSchedule {
            progress: Every::new(if guards { GUARD_PROGRESS_NS } else { PROGRESS_NS }),
            loads: Every::new(if guards { GUARD_CHECKS_NS } else { LOADS_NS }),
            settings: Every::new(if guards { GUARD_CHECKS_NS } else { SETTINGS_NS }),
            co_running: Every::new(if guards { GUARD_CHECKS_NS } else { CO_RUNNING_NS }),
            checkpoints: longest_ns.map_or(checkpoints, |longest_ns| checkpoints.at_most(longest_ns)),
            controls: Controls::new(self.settings.trace.controls, self.source.control_pace(), span),
        };
        lines.bell = self.source.bell();
        self.notice_start(span, &mut lines.link);
        self.report_co_running(false, &mut lines.link);
        loop {
            let control = lines.listen();
            lines.link.gaps().wait();
            self.notice_start(span, &mut lines.link);
            self.drain(&mut lines.link);
            let now_ns = clock::monotonic_ns();
            self.report(&mut schedule, &mut lines.link, now_ns);
            if let Some(Control::Asked(asked)) = &control {
                self.answer(asked, &mut lines.link, now_ns);
            }
            self.save(&mut lines.link, now_ns);
            let stopped = match control {
                Some(Control::Stop) => Stopped::Asked,
                Some(Control::Gone) => Stopped::LinkLost,
                _ if lines.link.is_broken() => Stopped::LinkLost,
                _ if self.load_died && !self.settings.keep_going => Stopped::LoadDied,
                _ if self.source.is_done(now_ns)? => Stopped::AsPlanned,
                _ => continue,
            };
            lines.link.send_counters(self.counters.as_mut().and_then(|counters| counters.last_look(now_ns)));
            self.report_co_running(true, &mut lines.link);
            return Ok(stopped);
        }
    }

    /// Does what the host of a watch asks for.
    fn answer<W: Write>(&mut self, asked: &Asked, link: &mut Link<W>, now_ns: i64) {
        if let Some(kinds) = asked.shed
            && self.source.shed(kinds)
        {
            if let Some(capturing) = &mut self.resources.capturing {
                capturing.held.hold_again(&capturing.events);
            }
            let kinds = EventKind::first(kinds).to_vec();
            link.problem(Severity::Notice, &MeterProblem::EventsShed { kinds });
        }
        if let Some(request) = &asked.save {
            self.saving = Some((request.clone(), now_ns.saturating_add(SAVE_WAIT_NS)));
        }
    }

    /// Keeps the last seconds, if that was requested.
    fn save<W: Write>(&mut self, link: &mut Link<W>, now_ns: i64) {
        if self.saving.is_none()
            && let Some(request) = self.source.save_requested(now_ns)
        {
            self.saving = Some((request, now_ns.saturating_add(SAVE_WAIT_NS)));
        }
        let Some((request, until_ns)) = &self.saving else { return };
        let last_try = now_ns >= *until_ns;
        match self.source.save(now_ns, request, last_try) {
            Some(_) if !last_try => return,
            Some(problem) => link.send(&Message::Problem(problem)),
            None => {}
        }
        self.saving = None;
    }

    fn notice_start<W: Write>(&mut self, span: Span, link: &mut Link<W>) {
        if self.measuring || clock::monotonic_ns() < span.count_from_ns {
            return;
        }
        self.measuring = true;
        link.gaps().wait();
        let threads: Vec<i32> = self.source.threads().iter().map(|thread| thread.tid).collect();
        self.counters = self.settings.counters.then(|| Counters::begin(&threads, link.gaps()));
        link.send(&Message::Phase { phase: RunPhase::Measure, monotonic_ns: span.count_from_ns });
    }

    /// Takes everything out of the queues and sends it.
    fn drain<W: Write>(&mut self, link: &mut Link<W>) {
        self.source.drain(&mut self.batch);
        if !self.batch.seconds.is_empty() {
            link.send(&Message::Seconds(std::mem::take(&mut self.batch.seconds)));
        }
        self.samples.append(&mut self.batch, link);
        if let Some(capturing) = &mut self.resources.capturing {
            forward::captured(capturing, link);
        }
        if let Some(tracing) = &self.resources.tracing {
            forward::found(tracing, link);
        }
        if let Some(audit) = &mut self.resources.audit {
            audit.drain(link);
        }
        if let Some(block_path) = &mut self.resources.block_path {
            block_path.drain(link);
        }
    }

    fn report<W: Write>(&mut self, schedule: &mut ReportSchedule, link: &mut Link<W>, now_ns: i64) {
        link.gaps().wait();
        for problem in self.source.check(now_ns) {
            link.send(&Message::Problem(problem));
        }
        if schedule.progress.is_due(now_ns) {
            let capturing = self.resources.capturing.as_ref();
            let snapshots = capturing.map_or(0, |capturing| capturing.counters.snapshots.load(Relaxed));
            link.send(&Message::Progress { threads: self.source.progress(), snapshots });
        }
        if schedule.co_running.is_due(now_ns) {
            self.report_co_running(false, link);
        }
        if schedule.loads.is_due(now_ns) {
            link.gaps().wait();
            self.check_loads(link);
        }
        if schedule.settings.is_due(now_ns) {
            link.gaps().wait();
            self.check_settings(link);
            link.gaps().wait();
            self.check_tracing(link);
        }
        link.gaps().wait();
        link.send_counters(self.counters.as_mut().and_then(|counters| counters.look_when_due(now_ns)));
        if schedule.checkpoints.is_due(now_ns) {
            self.source.send_totals(false, &mut |message| link.send(&message));
        }
        schedule.controls.request_when_due(now_ns, || self.source.request_control());
    }

    /// Two meters may disturb each other, whichever started first: each reports the other, once. So do tracers and profilers.
    fn report_co_running<W: Write>(&mut self, last: bool, link: &mut Link<W>) {
        for (severity, problem) in self.co_running.newcomers(last, link.gaps()) {
            link.problem(severity, &problem);
        }
    }

    /// Reports settings that another program changed meanwhile.
    fn check_settings<W: Write>(&mut self, link: &mut Link<W>) {
        for problem in self.resources.settings.changes() {
            link.send(&Message::Problem(problem));
        }
    }

    /// Reports that another program took the trace away, and puts it back where it can.
    fn check_tracing<W: Write>(&mut self, link: &mut Link<W>) {
        let Some(capturing) = &mut self.resources.capturing else { return };
        for taken in capturing.held.look(link.gaps()) {
            link.problem(Severity::Degraded, &taken);
        }
    }

    /// A load that died or does nothing makes the run something else than what was asked for.
    fn check_loads<W: Write>(&mut self, link: &mut Link<W>) {
        self.load_died |= load_reports::send(self.resources.loads.running.sample(), &mut self.complained, link);
    }

    /// Ends all threads and loads, counts what was lost, sends what is left and the final totals.
    fn collect<W: Write>(mut self, link: &mut Link<W>) -> Result<(), MeterProblem> {
        let stopped = self.source.stop(&mut |message| link.send(&message));
        self.check_loads(link);
        self.check_settings(link);
        load_reports::send(std::mem::take(&mut self.resources.loads.running).stop(), &mut self.complained, link);
        self.drain(link);
        if self.resources.tracing.as_mut().is_some_and(|tracing| !tracing.stop()) {
            link.problem(Severity::Degraded, &MeterProblem::TracerReaderDied);
        }
        if self.resources.capturing.as_mut().is_some_and(|capturing| !capturing.stop()) {
            link.problem(Severity::Degraded, &MeterProblem::CapturingDied);
        }
        self.drain(link);
        std::mem::take(&mut self.samples).close(link);
        if let Some((kind, bytes)) = self.source.take_file() {
            link.file(kind, &bytes);
        }
        if let Some(audit) = self.resources.audit.take() {
            audit.close(link);
        }
        if let Some(block_path) = self.resources.block_path.take() {
            block_path.close(link);
        }
        self.report_losses(link);
        for problem in self.resources.clocks.changes_until(Clocks::now()) {
            link.send(&Message::Problem(problem));
        }
        self.source.send_totals(true, &mut |message| link.send(&message));
        stopped
    }

    fn report_losses<W: Write>(&self, link: &mut Link<W>) {
        for loss in self.source.losses() {
            link.send(&Message::Loss(loss));
        }
        if let Some(capturing) = &self.resources.capturing {
            let smaller = capturing.counters.not_worth.load(Relaxed);
            let detail = "not taken: every kept one was of a larger spike (raise --snapshots to keep more)";
            link.loss(LossKind::Snapshots, smaller, detail);
        }
    }
}

/// Threads of the program that started this one, where it is the tool's own on this machine.
fn host_threads(tree: &Tree) -> Vec<i32> {
    let parent = std::os::unix::process::parent_id();
    let is_host = tree.text(&format!("proc/{parent}/comm")).is_some_and(|name| name == HOST_NAME);
    let threads = if is_host { tree.numbered(&format!("proc/{parent}/task"), "") } else { Vec::new() };
    threads.into_iter().filter_map(|(tid, _)| i32::try_from(tid).ok()).collect()
}

#[cfg(test)]
mod tests;
