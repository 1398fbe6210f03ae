//! Which stretch of the trace an explanation looks at.

use archive::spike::Spike;

/// Least stretch kept on both sides of the wake-up.
const MARGIN_NS_MIN: i64 = 20_000;
/// Stretch before the window that is replayed so that the contexts at its start are known.
const LOOKBACK_NS_MIN: i64 = 10_000_000;
/// A latency above this (one day) is not a measurement.
const LATENCY_NS_ABSURD: i64 = 86_400_000_000_000;

/// Instants in CLOCK_MONOTONIC ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub due_ns: i64,
    pub seen_ns: i64,
    /// The window itself: events and intervals are kept from here ...
    pub start_ns: i64,
    /// ... to here.
    pub end_ns: i64,
    /// Replay begins here.
    pub lookback_ns: i64,
}

impl Window {
    /// `None` when the sample makes no sense: negative latency, or instants no clock shows.
    pub fn of(spike: &Spike, interval_ns: u64) -> Option<Self> {
        let due_ns = spike.sample.due_ns;
        let latency_ns = spike.sample.latency_ns;
        let seen_ns = due_ns.checked_add(latency_ns)?;
        if due_ns < 0 || !(0..=LATENCY_NS_ABSURD).contains(&latency_ns) {
            return None;
        }
        let margin_ns = (latency_ns / 4).max(MARGIN_NS_MIN);
        let start_ns = due_ns.saturating_sub(margin_ns).max(0);
        // The timer is armed up to an interval before it is due.
        let interval_ns = i64::try_from(interval_ns).unwrap_or(i64::MAX);
        let lookback = interval_ns.saturating_mul(2).clamp(LOOKBACK_NS_MIN, 1_000_000_000);
        Some(Self {
            due_ns,
            seen_ns,
            start_ns,
            end_ns: seen_ns.saturating_add(margin_ns),
            lookback_ns: start_ns.saturating_sub(lookback).max(0),
        })
    }
}
