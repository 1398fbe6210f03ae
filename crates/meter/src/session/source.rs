//! What a session asks of a source of samples: threads of its own that measure, or threads of another program.

use crate::problem::MeterProblem;
use archive::message::{Loss, Message, Problem, ThreadProgress};
use archive::sample::Second;
use archive::settings::EffectiveThread;
use std::collections::BTreeMap;

/// The instants of a session, in ns of CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first wake-up.
    pub start_ns: i64,
    /// The first wake-up that counts.
    pub count_from_ns: i64,
    /// No sample counts at or after; `i64::MAX` where only a request or the source itself ends the session.
    pub end_ns: i64,
}

/// When a source is asked for an ordinary sample to be captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlPace {
    /// In the middle of equal parts of the session; at this distance where it has no end.
    Spread { without_end_ns: i64 },
    /// Soon after the start, then at this distance, as it may end at any time.
    Early { first_ns: i64, every_ns: i64 },
}

/// What finished since the last drain.
#[derive(Debug, Default)]
pub struct Batch {
    pub seconds: Vec<Second>,
    /// Samples of each thread as they are stored: due instant and latency, little-endian.
    pub samples: BTreeMap<u32, Vec<u8>>,
}

impl Batch {
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

/// Where a source hands its messages.
pub type Send<'a> = &'a mut dyn FnMut(Message);

/// Something whose lateness is measured. The session calls it from one thread, never while it holds anything the measured
/// threads need.
pub trait SampleSource {
    /// Threads that measure, as the kernel runs them.
    fn threads(&self) -> Vec<EffectiveThread> {
        Vec::new()
    }

    /// Further threads of the tool that work for this source.
    fn tool_tids(&self) -> Vec<i32> {
        Vec::new()
    }

    /// Starts: everything is armed and announced.
    fn start(&mut self) -> Span;

    /// Moves what finished since the last call.
    fn drain(&mut self, batch: &mut Batch);

    /// Looks after its threads; called many times a second.
    fn check(&mut self, _now_ns: i64) -> Vec<Problem> {
        Vec::new()
    }

    fn progress(&self) -> Vec<ThreadProgress>;

    fn control_pace(&self) -> ControlPace;

    /// Has the next ordinary sample captured; `false` when too little is known to call one ordinary.
    fn request_control(&mut self) -> bool;

    /// Whether it ended by itself.
    ///
    /// # Errors
    /// It should have ended long ago and did not.
    fn is_done(&mut self, now_ns: i64) -> Result<bool, MeterProblem>;

    /// Ends its threads; a drain then gives the rest.
    ///
    /// # Errors
    /// A thread that does not end.
    fn stop(&mut self, send: Send<'_>) -> Result<(), MeterProblem>;

    /// What was lost so far.
    fn losses(&self) -> Vec<Loss>;

    /// Sends totals and histograms of every thread; with the worst samples when `last`, after [`SampleSource::stop`].
    fn send_totals(&mut self, last: bool, send: Send<'_>);
}
