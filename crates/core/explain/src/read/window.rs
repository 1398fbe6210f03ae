//! The stretch of the trace that an explanation uses.

use archive::spike::Spike;

/// Minimum margin kept on both sides of the wake-up.
const MARGIN_NS_MIN: i64 = 20_000;
/// Minimum stretch before the window that is replayed to determine the contexts at its start.
const LOOKBACK_NS_MIN: i64 = 10_000_000;
/// A latency above this (one day) is not a measurement.
const LATENCY_NS_ABSURD: i64 = 86_400_000_000_000;

/// Instants of CLOCK_MONOTONIC, in ns.
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
    /// `None` if the sample is not plausible: negative latency, or instants that no clock shows.
    pub fn of(spike: &Spike, interval_ns: u64) -> Option<Self> {
        let due_ns = spike.sample.due_ns;
        let latency_ns = spike.sample.latency_ns;
        let seen_ns = due_ns.checked_add(latency_ns)?;
        if due_ns < 0 || !(0..=LATENCY_NS_ABSURD).contains(&latency_ns) {
            return None;
        }
        let margin_ns = (latency_ns / 4).max(MARGIN_NS_MIN);
        let start_ns = due_ns.saturating_sub(margin_ns).max(0);
        // The timer is armed up to one interval before it is due.
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
