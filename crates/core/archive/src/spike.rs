//! A spike, and what was recorded around it.

use crate::sample::Sample;
use crate::settings::SnapshotMode;
use crate::watched::WatchedKind;
use crate::watched::chain::MissedChain;
use serde::{Deserialize, Serialize};

/// Spikes that an opened run has at a time, and explanations of them. Comparisons of all with all stay affordable.
pub const SPIKES_MAX: usize = 10_000;

/// Why a sample got a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SpikeReason {
    /// Larger than every sample of its thread before it, or than those in its stretch of a long run.
    NewMaximum,
    OverLimit,
    /// An ordinary sample, for comparison.
    Control,
}

/// Contents of the buffers of one CPU when the snapshot was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Coverage {
    pub cpu: u32,
    /// Instant of the oldest event still held; `None` if the buffer was empty.
    pub oldest_ns: Option<i64>,
    pub newest_ns: Option<i64>,
    /// Events overwritten before `oldest_ns` since the buffer was last cleared: normal for a ring buffer.
    pub overwritten: u64,
    /// Events that the kernel could not record: holes in the trace.
    pub dropped: u64,
}

/// The snapshot of one spike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Snapshot {
    pub mode: SnapshotMode,
    /// Instant the recorder was frozen or swapped.
    pub frozen_ns: i64,
    /// Duration of the swap itself.
    pub swap_ns: u64,
    /// Time in which no buffer recorded.
    pub blind_ns: u64,
    pub coverage: Vec<Coverage>,
    /// Whether the stretch from due to seen lies inside the coverage of the sample's CPU.
    pub window_covered: bool,
    pub trace_bytes: u64,
    /// Steal time of all CPUs since the previous snapshot in ns, from /proc/stat (10 ms resolution).
    pub steal_ns: Option<u64>,
    /// Newest event of the snapshot that the kernel took by itself at a maximum that it found: mode `onmax` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub put_aside_ns: Option<i64>,
}

/// The code that a late timer interrupt interrupted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Interrupted {
    UserSpace,
    /// The kernel, in this function, `None` if it is not known; and the 16 bytes of code before the instruction that was next, in
    /// hexadecimal: they show whether it had just enabled interrupts.
    Kernel {
        function: Option<String>,
        code_before: String,
    },
}

/// A timer interrupt that came late, as the kernel of a guest with a steal clock recorded it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LateInterrupt {
    pub cpu: u32,
    /// Instant at which the turn of a late timer came, inside of the interrupt.
    pub ts_ns: i64,
    /// How late it was.
    pub late_ns: i64,
    /// Thread on the CPU; 0 of an idle one.
    pub tid: i32,
    pub interrupted: Interrupted,
    /// Time that the hypervisor counts as stolen from the CPU since the kernel's task clock last took it into account.
    pub stolen_ns: Option<u64>,
}

/// Who asked for the last seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RequestSource {
    /// SIGUSR1, or another process that sent it.
    Signal,
    /// A user at the terminal.
    Key,
    /// A program on the target, by a line in the kernel's trace marker.
    Program,
    /// A chain of threads that missed its deadline.
    Chain(MissedChain),
}

/// Longest reason of a request, in letters.
pub const REASON_LETTERS_MAX: usize = 120;

/// A request to keep the last seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SaveRequest {
    pub by: RequestSource,
    /// As it was given; it may be empty.
    pub reason: String,
}

impl SaveRequest {
    /// A request with at most [`REASON_LETTERS_MAX`] letters of a reason, on one line.
    pub fn new(by: RequestSource, reason: &str) -> Self {
        let letters = reason.trim().chars().map(|letter| if letter.is_control() { ' ' } else { letter });
        Self { by, reason: letters.take(REASON_LETTERS_MAX).collect() }
    }

    /// The chain that missed its deadline, if one asked.
    pub fn missed_chain(&self) -> Option<&MissedChain> {
        if let RequestSource::Chain(missed) = &self.by { Some(missed) } else { None }
    }
}

/// A sample worth keeping evidence for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spike {
    /// Number of the spike in the run, from 1; its files are below `spikes/<number, four digits>/`.
    pub number: u32,
    pub thread: u32,
    /// Thread id on the target, as it appears in the trace.
    pub tid: i32,
    pub sample: Sample,
    pub reason: SpikeReason,
    /// Seen instant of the previous cycle: the thread was busy or preempted until it could arm this one.
    pub previous_seen_ns: Option<i64>,
    pub snapshot: Option<Snapshot>,
    /// Why there is no snapshot, if there is none.
    pub snapshot_missing: Option<String>,
    /// Kind of the sample, if it is one of a watched thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<WatchedKind>,
    /// Late timer interrupts until it was seen, those shortly before it was due included, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late_interrupts: Vec<LateInterrupt>,
    /// Kept on request: the worst wake-up of the stretch that was asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requested: bool,
    /// Who asked, if it was kept on request; absent in archives of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub request: Option<SaveRequest>,
}

impl Spike {
    /// An ordinary sample, with which the late ones are compared. A stretch that was kept on request is none: it is the worst of its seconds.
    pub fn is_control(&self) -> bool {
        self.reason == SpikeReason::Control && !self.requested
    }

    /// A spike of which nothing but the sample is known.
    pub fn new(number: u32, thread: u32, tid: i32, sample: Sample, reason: SpikeReason) -> Self {
        Self {
            number,
            thread,
            tid,
            sample,
            reason,
            previous_seen_ns: None,
            snapshot: None,
            snapshot_missing: None,
            watched: None,
            late_interrupts: Vec::new(),
            requested: false,
            request: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_short_line() {
        let request = SaveRequest::new(RequestSource::Program, " lost\nframe\u{1b}[2J\t ");
        assert_eq!(request.reason, "lost frame [2J");
        let long = SaveRequest::new(RequestSource::Key, &"ü".repeat(5000));
        assert_eq!(long.reason.chars().count(), REASON_LETTERS_MAX);
    }
}
