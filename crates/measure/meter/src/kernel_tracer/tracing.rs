//! The thread that reads latency tracers and measuring tracers during the measurement.

use super::latency::{CopiedLatency, LatencyTracer};
use super::setup::Armed;
use super::source::SourceReader;
use crate::cadence::Checkpoints;
use crate::kernel::{clock, scheduling};
use crate::measure::start_instant::StartInstant;
use crate::trace::error::TraceError;
use archive::tracer::KernelSeries;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

const LOOK_NS: i64 = 100_000_000;

/// Output of the thread.
pub enum TracerOutput {
    Latency(Box<CopiedLatency>),
    /// State of every series; a later one replaces an earlier one.
    Series(Vec<KernelSeries>),
    /// A tracer can no longer be read.
    Broken(TraceError),
    /// Stretches above the threshold that were not kept.
    NotKept(u64),
}

/// Handle of the thread, which ends with [`KernelTracing::stop`].
pub struct KernelTracing {
    pub tid: i32,
    found: Receiver<TracerOutput>,
    start: Arc<StartInstant>,
    stop: Arc<AtomicBool>,
    handle: Option<JoinHandle<()>>,
}

impl KernelTracing {
    /// Starts the thread on these CPUs; it records from the start of counting on.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn start(armed: Armed, cpus: Vec<u32>, start: Arc<StartInstant>) -> Result<Self, TraceError> {
        let (output, found) = channel();
        let (ready, tid) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let mut reading = Reading { latency: armed.latency, sources: armed.sources, output, stop: stop.clone() };
        let awaited = start.clone();
        let spawned = std::thread::Builder::new().name("tardy:tracer".into()).spawn(move || {
            let _ = scheduling::bind(&cpus);
            let _ = ready.send(scheduling::thread_id());
            reading.run(&awaited);
        });
        let handle = spawned.map_err(TraceError::Thread)?;
        let tid = tid.recv().map_err(|_| TraceError::ThreadDied)?;
        Ok(Self { tid, found, start, stop, handle: Some(handle) })
    }

    /// Output since the last call, without waiting.
    pub fn received(&self) -> Vec<TracerOutput> {
        self.found.try_iter().collect()
    }

    /// Ends the thread; [`KernelTracing::received`] then returns the rest. `false` if it had died.
    pub fn stop(&mut self) -> bool {
        self.stop.store(true, Relaxed);
        self.start.cancel();
        self.handle.take().is_none_or(|handle| handle.join().is_ok())
    }
}

/// A failed run must not leave a thread that holds files of an instance open, or the instance could not be removed.
impl Drop for KernelTracing {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Reading {
    latency: Option<LatencyTracer>,
    sources: Vec<SourceReader>,
    output: Sender<TracerOutput>,
    stop: Arc<AtomicBool>,
}

impl Reading {
    fn run(&mut self, start: &StartInstant) {
        let Some(count_from_ns) = self.await_start(start) else { return };
        let begun = self.sources.iter_mut().try_for_each(SourceReader::begin);
        let begun = begun.and_then(|()| self.latency.as_mut().map_or(Ok(()), LatencyTracer::begin));
        self.report(begun);
        let mut checkpoints = Checkpoints::from(count_from_ns);
        loop {
            let stopping = self.stop.load(Relaxed);
            if stopping {
                self.sources.iter().for_each(SourceReader::stop);
                self.latency.iter().for_each(LatencyTracer::stop);
            } else {
                self.wait();
            }
            self.look();
            if checkpoints.is_due(clock::monotonic_ns()) || stopping {
                let series: Vec<KernelSeries> = self.sources.iter().flat_map(SourceReader::so_far).collect();
                if !series.is_empty() {
                    let _ = self.output.send(TracerOutput::Series(series));
                }
            }
            if stopping {
                let not_kept = self.latency.as_ref().map_or(0, |latency| latency.not_kept);
                let _ = self.output.send(TracerOutput::NotKept(not_kept));
                return;
            }
        }
    }

    /// The first counted instant; `None` if the run ends before.
    fn await_start(&self, start: &StartInstant) -> Option<i64> {
        let count_from_ns = start.wait()?;
        loop {
            let now_ns = clock::monotonic_ns();
            if now_ns >= count_from_ns {
                return Some(count_from_ns);
            }
            if self.stop.load(Relaxed) {
                return None;
            }
            clock::sleep_until_ns(count_from_ns.min(now_ns + LOOK_NS));
        }
    }

    fn wait(&self) {
        let timeout = Timespec { tv_sec: 0, tv_nsec: LOOK_NS };
        let mut watched: Vec<PollFd> = self.latency.iter().map(|latency| PollFd::new(latency, PollFlags::IN)).collect();
        let _ = poll(&mut watched, Some(&timeout));
    }

    fn look(&mut self) {
        let read = self.sources.iter_mut().try_for_each(SourceReader::read);
        self.report(read);
        let Some(latency) = &mut self.latency else { return };
        match latency.copy() {
            Ok(Some(copied)) => {
                let _ = self.output.send(TracerOutput::Latency(Box::new(copied)));
            }
            Ok(None) => {}
            Err(why) => self.report(Err(why)),
        }
    }

    /// A tracer that cannot be read now cannot be read later: the error is reported once.
    fn report(&mut self, outcome: Result<(), TraceError>) {
        if let Err(why) = outcome {
            let _ = self.output.send(TracerOutput::Broken(why));
            self.latency = None;
            self.sources.clear();
        }
    }
}
