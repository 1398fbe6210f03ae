//! Samples and what is counted about them, per measuring thread.

use serde::{Deserialize, Serialize};

/// One wake-up. All instants are CLOCK_MONOTONIC of the target, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sample {
    /// CPU on which the thread read the clock.
    pub cpu: u32,
    /// Number of the wake-up of this thread, from 0.
    pub cycle: u64,
    /// Instant the wake-up was due.
    pub due_ns: i64,
    /// Lateness; negative only when the clock misbehaved.
    pub latency_ns: i64,
}

impl Sample {
    /// Instant at which the thread read the clock.
    pub fn seen_ns(&self) -> i64 {
        self.due_ns.saturating_add(self.latency_ns)
    }
}

/// One second of one thread, counted from the first due instant of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Second {
    pub thread: u32,
    /// Index of the second, from 0. Seconds in which no wake-up was due are absent.
    pub second: u32,
    pub cycles: u32,
    /// 0 in a second without a wake-up, all of whose periods were missed.
    pub latency_ns_max: i64,
    pub over_limit: u32,
    pub missed_periods: u32,
}

/// Running totals of one measuring thread. All sums are exact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Totals {
    pub cycles: u64,
    /// Periods whose due instant passed before the thread could arm a timer for them: they have no sample.
    pub missed_periods: u64,
    pub over_limit: u64,
    /// Samples with a negative latency; they are in `min`, `sum` and `cycles` but in no histogram bucket.
    pub clock_anomalies: u64,
    /// `None` until the first sample.
    pub latency_ns_min: Option<i64>,
    pub latency_ns_max: Option<i64>,
    pub latency_ns_sum: i64,
    /// The sample that set the maximum.
    pub worst: Option<Sample>,
    /// Records the thread could not hand over because the reader was late (seconds, worst samples, every sample).
    pub records_dropped: u64,
}

impl Totals {
    /// Mean latency in ns, `None` without samples.
    pub fn latency_ns_mean(&self) -> Option<f64> {
        (self.cycles > 0).then(|| self.latency_ns_sum as f64 / self.cycles as f64)
    }
}
