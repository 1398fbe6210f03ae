//! Handle of a running capturing thread.

use super::arming::Armed;
use super::assemble::{Assembler, Symbols};
use super::capture::{
    self, Announcements, CaptureCounters, CaptureJob, Captured, CpuPart, MeasuredThread, bytes_of, received,
};
use super::error::TraceError;
use super::held_tracing::HeldTracing;
use super::late_interrupts::Recorded;
use crate::gaps::Gaps;
use crate::measure::start_instant::StartInstant;
use crate::measure::thread::MARKER;
use archive::settings::{SnapshotMode, TraceSettings};
use archive::spike::LateInterrupt;
use ftrace::kernel_symbols::SymbolText;
use std::borrow::Cow;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

/// How the capturing thread learns of spikes.
pub enum Spikes {
    /// Measuring threads of this process signal theirs.
    Signalled(Vec<MeasuredThread>),
    /// The thread that follows threads of another program announces theirs.
    Announced(Announcements),
}

/// Where and when the capturing thread works.
pub struct Place {
    pub cpus: Vec<u32>,
    pub gaps: Gaps,
}

/// Ends with [`Capturing::stop`].
pub struct Capturing {
    pub tid: i32,
    pub mode: SnapshotMode,
    /// Recorded events, and those of the base set that this kernel lacks.
    pub events: Vec<String>,
    pub events_absent: Vec<String>,
    pub buffer_kb_per_cpu: u32,
    pub counters: Arc<CaptureCounters>,
    pub held: HeldTracing,
    assembler: Assembler,
    captured: Receiver<Captured>,
    start: Arc<StartInstant>,
    doorbell: Option<Doorbell>,
    stop: Arc<AtomicBool>,
    handle: Option<JoinHandle<()>>,
}

/// Wakes the capturing thread where it sleeps on markers.
#[derive(Debug, Clone)]
pub struct Doorbell(Arc<File>);

impl Doorbell {
    pub fn ring(&self) {
        // Unheard, the thread only sleeps to its end.
        let _ = (&*self.0).write(MARKER);
    }
}

impl Capturing {
    /// Starts recording and the thread that waits for spikes; both are running on return.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn start(
        armed: Armed,
        settings: TraceSettings,
        spikes: Spikes,
        place: Place,
        start: Arc<StartInstant>,
    ) -> Result<Self, TraceError> {
        let Place { cpus, gaps } = place;
        let (threads, announcements) = match spikes {
            Spikes::Signalled(threads) => (threads, None),
            Spikes::Announced(announcements) => (Vec::new(), Some(announcements)),
        };
        let instance = armed.snapshotter.instance().clone();
        let pairs: Vec<(&str, &str)> = armed.events.iter().filter_map(|event| event.split_once(':')).collect();
        let metadata = instance.metadata(&pairs)?;
        let layout = instance.page_layout()?;
        let guards = announcements.as_ref().is_some_and(|from| from.bell.is_some());
        let symbols = if guards { Symbols::Reread } else { Symbols::held() };
        let assembler = Assembler::new(metadata, layout, symbols, gaps.clone());
        let mode = armed.snapshotter.mode();
        let marker = armed.snapshotter.has_doorbell().then(|| armed.snapshotter.marker()).transpose()?;
        let doorbell = marker.map(|marker| Doorbell(Arc::new(marker)));
        let held = HeldTracing::of(&armed.snapshotter.instances(), &armed.events);
        let (output, captured) = channel();
        let (ready, answer) = channel();
        let counters = Arc::new(CaptureCounters::default());
        let stop = Arc::new(AtomicBool::new(false));
        let job = CaptureJob {
            snapshotter: armed.snapshotter,
            settings,
            buffer_kb_per_cpu: armed.buffer_kb_per_cpu,
            threads,
            announcements,
            cpus,
            layout,
            bytes_without_pages: assembler.bytes_without_pages(),
            counters: counters.clone(),
            stop: stop.clone(),
            gaps,
            start: start.clone(),
            output,
        };
        let handle = capture::spawn(job, ready).map_err(TraceError::Thread)?;
        let tid = answer.recv().map_err(|_| TraceError::ThreadDied)??;
        Ok(Self {
            tid,
            mode,
            events: armed.events,
            events_absent: armed.events_absent,
            buffer_kb_per_cpu: armed.buffer_kb_per_cpu,
            counters,
            held,
            assembler,
            captured,
            start,
            doorbell,
            stop,
            handle: Some(handle),
        })
    }

    pub fn doorbell(&self) -> Option<Doorbell> {
        self.doorbell.clone()
    }

    /// Captures since the last call, without waiting.
    pub fn received(&self) -> Vec<Captured> {
        received(&self.captured).collect()
    }

    /// Assembles a trace.dat from the pages of a spike.
    pub fn trace_dat(&mut self, parts: &[CpuPart]) -> Vec<u8> {
        self.assembler.trace_dat(parts)
    }

    /// Late interrupts with the names of the functions that they broke into.
    pub fn with_functions(&self, late: &[Recorded]) -> Vec<LateInterrupt> {
        self.assembler.with_functions(late)
    }

    /// The kernel's functions.
    pub fn symbols(&self) -> Cow<'_, SymbolText> {
        self.assembler.symbols()
    }

    /// Releases the pages of a spike, and its stacks of this many bytes; their memory no longer counts as waiting.
    pub fn done_with(&self, parts: &[CpuPart], stack_bytes: u64) {
        let bytes = bytes_of(parts) + stack_bytes;
        self.counters.waiting_bytes.fetch_sub(bytes, Relaxed);
    }

    /// Ends the thread after pending work; [`Capturing::received`] then returns the rest. `false` if it had died.
    pub fn stop(&mut self) -> bool {
        self.stop.store(true, Relaxed);
        self.start.cancel();
        self.doorbell.iter().for_each(Doorbell::ring);
        self.handle.take().is_none_or(|handle| handle.join().is_ok())
    }
}

/// A failed run must not leave a thread that holds files of an instance open, or the instance could not be removed.
impl Drop for Capturing {
    fn drop(&mut self) {
        self.stop();
    }
}
