//! The capturing thread: sleeps until a spike is marked, freezes the past, copies it, passes it on, and sleeps again.
//!
//! It freezes at the lowest real-time priority, so that a loaded machine cannot overwrite the spike first, and copies
//! as an ordinary task. It never waits for the host.

use super::announced_until::AnnouncedUntil;
use super::earlier::{Earlier, Joint};
use super::error::TraceError;
use super::late_interrupts::{LateInterrupts, Recorded};
use super::past::{Past, full_bytes, touched};
use super::retention::{Purpose, Retention, Sort, stretches};
use super::snapshotter::{CpuCopy, Frozen, Snapshotter};
use super::stacks::{StackCopy, StackRecords, StackSampling};
use crate::compact;
use crate::gaps::Gaps;
use crate::kernel::bell::Bell;
use crate::kernel::{clock, scheduling};
use crate::measure::start_instant::StartInstant;
use crate::measure::thread_record::{SpikeSignal, ThreadRecord};
use archive::settings::{Policy, SnapshotMode, TraceSettings};
use archive::spike::{SaveRequest, Snapshot, Spike, SpikeReason};
use archive::watched::WatchedKind;
use ftrace::cpu_stats::CpuStats;
use ftrace::header::PageLayout;
use ftrace::trace_dat::cut_pages;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::mpsc::{Receiver, Sender};
use std::thread::JoinHandle;
use std::time::Duration;
use wakeups::stretches::Stretches;

const STACK_BYTES: usize = 256 << 10;
/// Memory limit for copied traces that wait for the host; further ones wait in the kernel's buffers.
const WAITING_BYTES_MAX: u64 = 64 << 20;
const IDLE_WAIT: Duration = Duration::from_millis(100);
/// Maximum number of copies for a spike before it is kept as it is.
const TRIES_MAX: u8 = 3;
/// Spikes whose stacks are copied as soon as they are known: 1.3 MB each.
const EARLY_STACKS_MAX: usize = 4;
const ANNOUNCED_WITHIN: Duration = Duration::from_secs(1);

/// Output of the thread.
#[derive(Debug)]
pub enum Captured {
    /// `parts` are the pages around the spike; none without a snapshot. The late interrupts are not in the spike yet. `stacks` is a
    /// file of the archive, of a watched thread whose stack is sampled.
    Spike { spike: Box<Spike>, parts: Vec<CpuPart>, late: Vec<Recorded>, stacks: Option<StackCopy> },
    /// The snapshotter failed.
    Broken { error: TraceError },
    /// A snapshot that was sent earlier has been replaced by larger ones.
    Dropped { number: u32 },
}

/// Pages of one CPU, cut to the window of a spike.
#[derive(Debug)]
pub struct CpuPart {
    pub cpu: u32,
    pub stats: Option<CpuStats>,
    pub pages: Vec<u8>,
}

/// Counters that the main thread displays and reports.
#[derive(Debug, Default)]
pub struct CaptureCounters {
    pub snapshots: AtomicU32,
    /// Spikes not captured because every kept snapshot is larger.
    pub not_worth: AtomicU64,
    pub waiting_bytes: AtomicU64,
}

/// One measuring thread, as needed by the capture. The records of all of them share their `snapshotter_busy`.
#[derive(Debug, Clone)]
pub struct MeasuredThread {
    pub thread: u32,
    pub tid: i32,
    pub record: Arc<ThreadRecord>,
}

/// A spike of a thread without a record.
#[derive(Debug, Clone)]
pub struct Announced {
    /// Number of the series it belongs to.
    pub thread: u32,
    pub tid: i32,
    pub kind: WatchedKind,
    pub signal: SpikeSignal,
    pub saved: Option<Saved>,
}

/// A stretch that is kept on request.
#[derive(Debug, Clone)]
pub struct Saved {
    /// Its length, up to now.
    pub ns: u64,
    pub request: SaveRequest,
}

/// Source of spikes if another thread follows the threads of another program.
#[derive(Debug)]
pub struct Announcements {
    pub spikes: Receiver<Announced>,
    /// Set by the thread that marks a spike, until its snapshot is copied.
    pub busy: Arc<AtomicBool>,
    /// Everything up to this instant has been announced.
    pub until: Arc<AnnouncedUntil>,
    /// Longest sleep until it looks for spikes.
    pub sleep: Duration,
    /// Rung when a spike is captured.
    pub bell: Option<Bell>,
    /// Samples of the threads' stacks, if they were asked for.
    pub stacks: Option<Arc<StackSampling>>,
}

/// The inputs and outputs of the thread.
pub struct CaptureJob {
    pub snapshotter: Box<dyn Snapshotter>,
    pub settings: TraceSettings,
    pub buffer_kb_per_cpu: u32,
    pub threads: Vec<MeasuredThread>,
    pub announcements: Option<Announcements>,
    /// CPUs it may use.
    pub cpus: Vec<u32>,
    pub layout: PageLayout,
    /// Size of a trace without its pages, for the budget.
    pub bytes_without_pages: u64,
    pub counters: Arc<CaptureCounters>,
    pub stop: Arc<AtomicBool>,
    /// When to work.
    pub gaps: Gaps,
    /// Start of the counting, once it is known.
    pub start: Arc<StartInstant>,
    pub output: Sender<Captured>,
}

/// Starts the thread. It sends its thread id on `ready` once its memory is prepared and the recording runs, and returns
/// the snapshotter when it ends, so that its files close before the instance is removed.
///
/// # Errors
/// If the system cannot create another thread.
pub fn spawn(job: CaptureJob, ready: Sender<Result<i32, TraceError>>) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("tardy:capture".into()).stack_size(STACK_BYTES).spawn(move || {
        let mut capture = match Capture::prepare(job) {
            Ok(capture) => capture,
            Err(why) => {
                let _ = ready.send(Err(why));
                return;
            }
        };
        let _ = ready.send(Ok(scheduling::thread_id()));
        drop(ready);
        capture.run();
    })
}

/// Receives all pending items without waiting.
pub fn received(input: &Receiver<Captured>) -> impl Iterator<Item = Captured> + '_ {
    input.try_iter()
}

/// A spike that has no snapshot yet.
#[derive(Debug)]
struct Pending {
    thread: u32,
    tid: i32,
    kind: Option<WatchedKind>,
    signal: SpikeSignal,
    purpose: Purpose,
    saved: Option<Saved>,
    /// No marker was written for it, or the marker did not bring it into a snapshot.
    unmarked: bool,
    /// The thread has written a line about it.
    has_line: bool,
    /// Copies that did not contain it.
    tried: u8,
    /// Copied as soon as it was known: the traces take longer, and the kernel overwrites the records meanwhile.
    stacks: Option<StackRecords>,
}

struct Capture {
    job: CaptureJob,
    copies: Vec<CpuCopy>,
    /// Size of a copy whose memory is given back after each spike: months have few, and memory is scarcer than time.
    given_back: Option<usize>,
    /// The end of the previous copy, in modes `flip` and `live`.
    earlier: Option<Earlier>,
    retention: Retention,
    stretches: Option<Stretches>,
    pending: Vec<Pending>,
    /// A thread that marks a spike, or the snapshotter, sets it to keep all others from marking.
    marking: Arc<AtomicBool>,
    busy: bool,
    /// When the snapshotter last became busy and last became idle.
    busy_since_ns: i64,
    idle_since_ns: i64,
    next_number: u32,
    steal_ns: Option<u64>,
    late: Option<LateInterrupts>,
}

impl Capture {
    fn prepare(mut job: CaptureJob) -> Result<Self, TraceError> {
        let _ = scheduling::bind(&job.cpus);
        let cpus = job.snapshotter.instance().cpus();
        let room = full_bytes(job.buffer_kb_per_cpu, &job.layout);
        let joint = match job.snapshotter.mode() {
            SnapshotMode::Flip => Some(Joint::Overlap),
            SnapshotMode::Live => Some(Joint::Seamless),
            _ => None,
        };
        let earlier = joint.map(|joint| Earlier::new(job.layout, room, joint));
        let room = room + earlier.as_ref().map_or(0, Earlier::room);
        let is_guard = job.announcements.as_ref().is_some_and(|from| from.bell.is_some());
        let pages = || if is_guard { Vec::new() } else { touched(room) };
        let copies = cpus.iter().map(|cpu| CpuCopy { cpu: *cpu, pages: pages(), ..CpuCopy::default() }).collect();
        // After the events: the program's time is not inside of the one that it follows.
        let late = LateInterrupts::record(&cpus);
        job.snapshotter.start()?;
        let retention = Retention::new(&job.settings);
        let stretches = stretches(&job.settings);
        let announced = job.announcements.iter().map(|from| from.busy.clone());
        let marking = announced.chain(job.threads.iter().map(|thread| thread.record.snapshotter_busy.clone())).next();
        Ok(Self {
            job,
            copies,
            given_back: is_guard.then_some(room),
            earlier,
            retention,
            stretches,
            pending: Vec::new(),
            marking: marking.unwrap_or_default(),
            busy: false,
            busy_since_ns: i64::MAX,
            idle_since_ns: i64::MIN,
            next_number: 1,
            steal_ns: steal_ns(),
            late,
        })
    }

    fn run(&mut self) {
        // Only now: a real-time task that never sleeps leaves the CPU to ordinary tasks from time to time, but not to
        // this priority. Without the privilege the freeze is only later; the coverage of each snapshot shows the effect.
        let _ = scheduling::set_policy(Policy::Fifo, 1, 0);
        self.await_start();
        loop {
            let stopping = self.job.stop.load(Relaxed);
            self.collect();
            if !self.pending.is_empty() {
                self.capture_pending();
            } else if stopping {
                return;
            } else if self.marking.load(SeqCst) {
                self.forget_unworthy();
            }
            if self.pending.is_empty() && !stopping {
                // A spike that is found by following rather than by the kernel causes no wake-up.
                let sleep = self.job.announcements.as_ref().map_or(IDLE_WAIT, |from| from.sleep);
                self.job.snapshotter.wait(self.job.gaps.timeout(sleep));
            }
        }
    }

    fn await_start(&mut self) {
        if let Some(count_from_ns) = self.job.start.wait()
            && let Err(error) = self.job.snapshotter.begin(count_from_ns)
        {
            let _ = self.job.output.send(Captured::Broken { error });
        }
    }

    fn collect(&mut self) {
        let mut announced_spikes = Vec::new();
        for MeasuredThread { thread, tid, record } in &self.job.threads {
            let signals = std::iter::from_fn(|| record.take_spike());
            announced_spikes.extend(signals.map(|signal| (*thread, *tid, None, signal, None)));
        }
        let announced = self.job.announcements.iter().flat_map(|from| from.spikes.try_iter());
        announced_spikes.extend(announced.map(|announced| {
            let Announced { thread, tid, kind, signal, saved } = announced;
            (thread, tid, Some(kind), signal, saved)
        }));
        for (thread, tid, kind, signal, saved) in announced_spikes {
            let purpose = self.purpose(tid, kind, &signal, saved.is_some());
            if self.retention.worth(signal.sample.latency_ns, purpose) {
                let unmarked = if kind.is_some() { self.busy } else { self.was_busy_at(signal.sample.seen_ns()) };
                let has_line = !unmarked;
                let copied = self.pending.iter().filter(|pending| pending.stacks.is_some()).count();
                let stacks = if copied < EARLY_STACKS_MAX { self.stack_records(tid) } else { None };
                let tried = 0;
                self.pending.push(Pending {
                    thread,
                    tid,
                    kind,
                    signal,
                    purpose,
                    saved,
                    unmarked,
                    has_line,
                    tried,
                    stacks,
                });
            } else {
                self.job.counters.not_worth.fetch_add(1, Relaxed);
            }
        }
    }

    /// Purpose of a spike's snapshot. A thread that has ended had the policy of most that are watched.
    fn purpose(&self, tid: i32, kind: Option<WatchedKind>, signal: &SpikeSignal, requested: bool) -> Purpose {
        if requested {
            return Purpose::Requested;
        }
        if signal.reason == SpikeReason::Control {
            return Purpose::Control;
        }
        let is_ordinary = || scheduling::policy_of(tid).is_ok_and(|(policy, _)| policy == Policy::Other);
        let sort = match kind {
            Some(_) if is_ordinary() => Sort::Ordinary,
            Some(WatchedKind::Cycle) => Sort::Cycle,
            _ => Sort::WakeUp,
        };
        Purpose::Late(sort, self.stretches.map(|stretches| stretches.number(signal.sample.seen_ns())))
    }

    /// Whether a thread that saw the time then found the snapshotter busy. A spike may be announced later than that.
    fn was_busy_at(&self, seen_ns: i64) -> bool {
        seen_ns < self.idle_since_ns || (self.busy && seen_ns >= self.busy_since_ns)
    }

    /// Returns the previous state: whether a spike has been marked, if it was idle.
    fn set_busy(&mut self, busy: bool) -> bool {
        self.busy = busy;
        let before = self.marking.swap(busy, SeqCst);
        let since_ns = if busy { &mut self.busy_since_ns } else { &mut self.idle_since_ns };
        *since_ns = clock::monotonic_ns();
        before
    }

    /// Ends the marking of a spike that is not worth a snapshot.
    fn forget_unworthy(&mut self) {
        // The thread that marks a spike has announced it before.
        self.collect();
        if self.pending.is_empty() {
            self.job.snapshotter.forget();
            self.set_busy(false);
        }
    }

    fn capture_pending(&mut self) {
        let marked = self.set_busy(true);
        compact::sort_by_key(&mut self.pending, |pending| std::cmp::Reverse(pending.signal.sample.latency_ns));
        let latest_ns = self.pending.iter().map(|pending| pending.signal.sample.seen_ns()).max().unwrap_or(0);
        clock::sleep_until_ns(latest_ns.saturating_add(self.job.settings.margin_after_ns.min(1_000_000_000) as i64));
        self.job.gaps.wait();
        let unmarked = match self.job.snapshotter.mode() {
            SnapshotMode::Trigger => !marked,
            _ => self.pending.iter().all(|pending| pending.unmarked),
        };
        match self.job.snapshotter.freeze(&self.note(), unmarked) {
            Ok(frozen) => self.copy_and_keep(frozen, unmarked),
            Err(error) => self.give_up(&error),
        }
        if let Some(bell) = self.job.announcements.as_ref().and_then(|from| from.bell.as_ref()) {
            bell.ring();
        }
        self.set_busy(false);
        while self.job.counters.waiting_bytes.load(Relaxed) > WAITING_BYTES_MAX && !self.job.stop.load(Relaxed) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn copy_and_keep(&mut self, mut frozen: Frozen, by_us: bool) {
        let be_ordinary = || scheduling::set_nice(-10).or_else(|_| scheduling::set_nice(0));
        let is_urgent = self.job.snapshotter.copies_before_others_run();
        if !is_urgent {
            let _ = be_ordinary();
        }
        if let Some(room) = self.given_back {
            self.copies.iter_mut().for_each(|copy| copy.pages.reserve_exact(room));
        }
        let copied = self.job.snapshotter.copy(&mut self.copies, &self.job.gaps);
        if is_urgent {
            let _ = be_ordinary();
        }
        self.await_announcements(frozen.frozen_ns);
        self.collect();
        self.job.gaps.wait();
        if self.need_earlier(&frozen)
            && let Some(earlier) = &self.earlier
        {
            earlier.join(&mut self.copies, &mut frozen);
        }
        let frozen = &frozen;
        let past = Past::new(&self.copies, &self.job.layout, self.job.snapshotter.mode(), frozen, &self.job.gaps);
        let in_time = self.take_in_time(&past, frozen);
        let steal_before = std::mem::replace(&mut self.steal_ns, steal_ns());
        let stolen_ns = self.steal_ns.zip(steal_before).map(|(now, before)| now.saturating_sub(before));
        for pending in in_time {
            self.keep(pending, frozen, &past, by_us, copied.as_ref().err(), stolen_ns);
        }
        self.job.gaps.wait();
        match &mut self.earlier {
            Some(earlier) if copied.is_ok() => earlier.keep(&self.copies, frozen),
            Some(earlier) => earlier.forget(),
            None => {}
        }
        if self.given_back.is_some() {
            self.copies.iter_mut().for_each(|copy| copy.pages = Vec::new());
        }
        let _ = scheduling::set_policy(Policy::Fifo, 1, 0);
    }

    /// Whether a spike or what led to it began before the copied buffers recorded.
    fn need_earlier(&self, frozen: &Frozen) -> bool {
        let margin_ns = self.job.settings.margin_before_ns as i64;
        self.pending.iter().any(|pending| pending.signal.sample.due_ns - margin_ns < frozen.recording_since_ns)
    }

    /// Takes the spikes that this copy can contain. A marker swaps at once and the copy begins later: events between
    /// the two are in the live buffer, which an additional swap fetches.
    fn take_in_time(&mut self, past: &Past, frozen: &Frozen) -> Vec<Pending> {
        let by_marker = self.job.snapshotter.mode() == SnapshotMode::Trigger;
        let until_ns = if by_marker { past.until_ns } else { frozen.frozen_ns };
        let in_time = self.pending.extract_if(.., |pending| {
            let seen_ns = pending.signal.sample.seen_ns();
            seen_ns <= until_ns || (seen_ns <= frozen.frozen_ns && pending.tried >= TRIES_MAX)
        });
        let in_time = in_time.collect();
        for pending in &mut self.pending {
            if by_marker && pending.signal.sample.seen_ns() <= frozen.frozen_ns {
                pending.unmarked = true;
                pending.tried += 1;
            }
        }
        in_time
    }

    /// A copy removes its past from the buffers, so every spike in it must be known before it is released. The thread
    /// that follows other threads announces their spikes a little later.
    fn await_announcements(&self, until_ns: i64) {
        let Some(from) = &self.job.announcements else { return };
        // If the following thread has died, the spikes that it announced before are captured.
        from.until.wait_for(until_ns, ANNOUNCED_WITHIN);
    }

    /// The last line of the trace: a description of the largest pending spike.
    fn note(&self) -> String {
        let Some(Pending { tid, signal, .. }) = self.pending.first() else { return String::new() };
        let sample = &signal.sample;
        format!(
            "tardy spike={} tid={} cpu={} cycle={} due={} latency={}\n",
            self.next_number, tid, sample.cpu, sample.cycle, sample.due_ns, sample.latency_ns
        )
    }

    fn give_up(&mut self, error: &TraceError) {
        for pending in std::mem::take(&mut self.pending) {
            let spike = self.spike(&pending, None, Some(error.to_string()));
            let _ = self.job.output.send(Captured::Spike { spike, parts: Vec::new(), late: Vec::new(), stacks: None });
        }
    }

    fn keep(
        &mut self,
        mut pending: Pending,
        frozen: &Frozen,
        past: &Past,
        by_us: bool,
        broken: Option<&TraceError>,
        stolen_ns: Option<u64>,
    ) {
        let signal = &pending.signal;
        let sample = &signal.sample;
        if !self.retention.worth(sample.latency_ns, pending.purpose) {
            self.job.counters.not_worth.fetch_add(1, Relaxed);
            return;
        }
        let mode = self.job.snapshotter.mode();
        let (due_ns, seen_ns) = (sample.due_ns, sample.seen_ns());
        let covers = past.covers(sample.cpu, due_ns, seen_ns);
        // Two markers close together swap twice; an additional swap fetches back what the second removed.
        let again =
            mode == SnapshotMode::Trigger && pending.tried < TRIES_MAX && !(by_us && past.has_overwritten(sample.cpu));
        if !covers && again {
            self.pending.push(Pending { unmarked: true, tried: pending.tried + 1, ..pending });
            return;
        }
        if mode == SnapshotMode::Onmax && !past.has_any(sample.cpu, due_ns, seen_ns) {
            let why =
                "what happened then was no longer in the buffers when they were copied (raise --buffer-kb)".to_owned();
            let spike = self.spike(&pending, None, Some(why));
            let _ = self.job.output.send(Captured::Spike { spike, parts: Vec::new(), late: Vec::new(), stacks: None });
            return;
        }
        let from_ns = sample.due_ns - self.job.settings.margin_before_ns as i64;
        // The marker is written after the time was seen; on a slow machine, long after.
        let line_ns = past.marker_ns(pending.tid, seen_ns).filter(|_| pending.has_line).unwrap_or(seen_ns);
        let to_ns = (seen_ns + self.job.settings.margin_after_ns as i64).max(line_ns);
        let (from_ns, to_ns) = match &pending.saved {
            Some(saved) => (from_ns.min(frozen.frozen_ns.saturating_sub_unsigned(saved.ns)), frozen.frozen_ns),
            None => (from_ns, to_ns),
        };
        let parts = match &pending.saved {
            Some(_) => self.parts_that_fit(from_ns, sample.due_ns, to_ns),
            None => self.parts(from_ns, to_ns),
        };
        let page_bytes = bytes_of(&parts);
        let trace_bytes = page_bytes + self.job.bytes_without_pages;
        let snapshot = Snapshot {
            mode,
            frozen_ns: if mode == SnapshotMode::Trigger { past.until_ns } else { frozen.frozen_ns },
            swap_ns: frozen.swap_ns,
            blind_ns: frozen.blind_ns,
            coverage: past.coverage.clone(),
            // An incomplete copy does not show what it lacks.
            window_covered: covers && broken.is_none(),
            trace_bytes,
            steal_ns: stolen_ns,
            put_aside_ns: self.copies.iter().filter_map(|copy| copy.put_aside_ns).max(),
        };
        let missing = broken.map(|why| format!("the trace was copied in part only: {why}"));
        let number = self.next_number;
        let spike = self.spike(&pending, Some(snapshot), missing);
        let records = pending.stacks.take().or_else(|| self.stack_records(pending.tid));
        let stacks = records.and_then(|records| Some(self.sampling()?.described(records)));
        let stack_bytes = stacks.as_ref().map_or(0, StackCopy::bytes);
        let kept_bytes = trace_bytes + stack_bytes;
        let gone = self.retention.admit(number, sample.latency_ns, kept_bytes, pending.purpose);
        if signal.reason == SpikeReason::OverLimit {
            let rests_until_ns = clock::monotonic_ns() + self.job.settings.rest_ns as i64;
            self.job
                .threads
                .iter()
                .for_each(|thread| thread.record.snapshotter_rests_until_ns.store(rests_until_ns, Relaxed));
        }
        self.job.counters.snapshots.fetch_add(1, Relaxed);
        let waiting_bytes = page_bytes + stack_bytes;
        self.job.counters.waiting_bytes.fetch_add(waiting_bytes, Relaxed);
        let late = self.late.as_ref().map(|late| late.within(&(from_ns..=seen_ns))).unwrap_or_default();
        let _ = self.job.output.send(Captured::Spike { spike, parts, late, stacks });
        for number in gone {
            let _ = self.job.output.send(Captured::Dropped { number });
        }
    }

    fn sampling(&self) -> Option<&StackSampling> {
        self.job.announcements.as_ref()?.stacks.as_deref()
    }

    /// Samples of a thread's stack. A kernel that does not stop writing them is like one that has none.
    fn stack_records(&self, tid: i32) -> Option<StackRecords> {
        self.sampling()?.records(tid).ok()?
    }

    fn spike(&mut self, pending: &Pending, snapshot: Option<Snapshot>, snapshot_missing: Option<String>) -> Box<Spike> {
        let number = self.next_number;
        self.next_number += 1;
        Box::new(Spike {
            previous_seen_ns: pending.signal.previous_seen_ns,
            snapshot,
            snapshot_missing,
            watched: pending.kind,
            requested: pending.saved.is_some(),
            request: pending.saved.as_ref().map(|saved| saved.request.clone()),
            ..Spike::new(number, pending.thread, pending.tid, pending.signal.sample, pending.signal.reason)
        })
    }

    /// Copies of the newest part of a long stretch that has room, as far back as this instant at least.
    fn parts_that_fit(&self, mut from_ns: i64, least_ns: i64, to_ns: i64) -> Vec<CpuPart> {
        let mut parts = self.parts(from_ns, to_ns);
        while bytes_of(&parts) > self.retention.requested_bytes_max() && from_ns < least_ns {
            from_ns += ((least_ns - from_ns) / 2).max(1_000_000);
            parts = self.parts(from_ns, to_ns);
        }
        parts
    }

    /// Copies of the pages that overlap the window.
    fn parts(&self, from_ns: i64, to_ns: i64) -> Vec<CpuPart> {
        let (from_ns, to_ns) = (from_ns.max(0) as u64, to_ns.max(0) as u64);
        let cut = |copy: &CpuCopy| CpuPart {
            cpu: copy.cpu,
            stats: copy.stats,
            pages: cut_pages(&copy.pages, &self.job.layout, from_ns, to_ns).to_vec(),
        };
        let copies = self.copies.iter().inspect(|_| self.job.gaps.wait());
        copies.map(cut).collect()
    }
}

/// Bytes of all pages.
pub fn bytes_of(parts: &[CpuPart]) -> u64 {
    parts.iter().map(|part| part.pages.len() as u64).sum()
}

/// Time stolen from all CPUs since boot, from /proc/stat, in ns of 10 ms resolution.
fn steal_ns() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    let ticks: u64 = stat.lines().next()?.split_whitespace().nth(8)?.parse().ok()?;
    Some(ticks * 10_000_000)
}
