//! The interface of a source of samples: own measuring threads, or threads of another program.

use crate::gaps::Gaps;
use crate::kernel::bell::Bell;
use crate::problem::MeterProblem;
use archive::effective::EffectiveThread;
use archive::message::{FileKind, Loss, Message, Problem, ThreadProgress};
use archive::sample::Second;
use archive::spike::SaveRequest;
use std::collections::BTreeMap;

/// The instants of a session, in ns of CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first wake-up.
    pub start_ns: i64,
    /// The first wake-up that counts.
    pub count_from_ns: i64,
    /// Samples at or after this instant do not count; `i64::MAX` if only a request or the source itself ends the
    /// session.
    pub end_ns: i64,
}

/// When a source is asked to capture an ordinary sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlPace {
    /// In the middle of equal parts of the session; at this interval if it has no end.
    Spread { without_end_ns: i64 },
    /// Soon after the start, then at this interval, because the session may end at any time.
    Early { first_ns: i64, every_ns: i64 },
}

/// Data finished since the last drain.
#[derive(Debug, Default)]
pub struct Batch {
    pub seconds: Vec<Second>,
    /// Samples of each thread in the stored format: due instant and latency, little-endian.
    pub samples: BTreeMap<u32, Vec<u8>>,
}

impl Batch {
    /// Moves what another batch has to the end of this one.
    pub fn append(&mut self, other: &mut Self) {
        self.seconds.append(&mut other.seconds);
        for (thread, samples) in &mut other.samples {
            self.samples.entry(*thread).or_default().append(samples);
        }
    }

    /// Adds samples of a thread as (due, latency) in ns.
    pub fn add_samples(&mut self, thread: u32, samples: impl Iterator<Item = (i64, i64)>) {
        let mut samples = samples.peekable();
        if samples.peek().is_none() {
            return;
        }
        let bytes = self.samples.entry(thread).or_default();
        for (due_ns, latency_ns) in samples {
            bytes.extend_from_slice(&due_ns.to_le_bytes());
            bytes.extend_from_slice(&latency_ns.to_le_bytes());
        }
    }
}

/// Receives a source's messages.
pub type Send<'a> = &'a mut dyn FnMut(Message);

/// A source of latencies. The session calls it from one thread, never while it holds anything that the measured threads
/// need.
pub trait SampleSource {
    /// Measuring threads with their effective settings.
    fn threads(&self) -> Vec<EffectiveThread> {
        Vec::new()
    }

    /// Other threads of the tool that work for this source.
    fn tool_tids(&self) -> Vec<i32> {
        Vec::new()
    }

    /// When other threads of the meter may work without delaying a wake-up.
    fn gaps(&self) -> Gaps {
        Gaps::default()
    }

    /// Rings when it has something for the host that cannot wait.
    fn bell(&self) -> Option<Bell> {
        None
    }

    /// Starts: everything is armed and announced.
    fn start(&mut self) -> Span;

    /// Moves data finished since the last call.
    fn drain(&mut self, batch: &mut Batch);

    /// Checks its threads; called many times a second.
    fn check(&mut self, _now_ns: i64) -> Vec<Problem> {
        Vec::new()
    }

    fn progress(&self) -> Vec<ThreadProgress>;

    fn control_pace(&self) -> ControlPace;

    /// Requests a capture of the next ordinary sample; `false` if too little is known to classify samples.
    fn request_control(&mut self) -> bool;

    /// A request of a program on this machine to keep the last seconds.
    fn save_requested(&mut self, _now_ns: i64) -> Option<SaveRequest> {
        None
    }

    /// Keeps the last seconds; the problem if there is nothing to keep. The last try takes what is there.
    fn save(&mut self, _now_ns: i64, _request: &SaveRequest, _last_try: bool) -> Option<Problem> {
        None
    }

    /// Records all but the first of the kinds of events, as many as are shed. Returns whether it can.
    fn shed(&mut self, _kinds: usize) -> bool {
        false
    }

    /// Whether it ended by itself.
    ///
    /// # Errors
    /// It should have ended long ago but did not.
    fn is_done(&mut self, now_ns: i64) -> Result<bool, MeterProblem>;

    /// Ends its threads; a drain then returns the rest.
    ///
    /// # Errors
    /// A thread that does not end.
    fn stop(&mut self, send: Send<'_>) -> Result<(), MeterProblem>;

    /// A file for the archive that is complete once its threads have ended.
    fn take_file(&mut self) -> Option<(FileKind, Vec<u8>)> {
        None
    }

    /// Losses so far.
    fn losses(&self) -> Vec<Loss>;

    /// Sends totals and histograms of every thread; if `last`, after [`SampleSource::stop`], also the worst samples.
    fn send_totals(&mut self, last: bool, send: Send<'_>);
}
