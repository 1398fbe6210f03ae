//! When the wake-ups of a measuring thread are due, and which of them count.

use super::dither::Dither;
use wakeups::stretches::Stretches;

/// The instants and limits of a measuring thread. All in ns of CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    pub interval_ns: i64,
    /// Randomises each interval, with `interval_ns` as the mean.
    pub dither: Option<Dither>,
    pub first_due_ns: i64,
    /// Wake-ups due before this instant are not counted.
    pub count_from_ns: i64,
    /// No wake-up is due at or after this instant.
    pub end_ns: i64,
    pub cycles_max: u64,
    pub limit_ns: i64,
    pub spike_threshold_ns: i64,
    /// Stretches of a long run whose maxima get a snapshot, too.
    pub stretches: Option<Stretches>,
    pub traced: bool,
}

impl Schedule {
    /// The same schedule with `instant_ns` added to its relative instants.
    pub fn starting_at(self, instant_ns: i64) -> Self {
        Self {
            first_due_ns: self.first_due_ns.saturating_add(instant_ns),
            count_from_ns: self.count_from_ns.saturating_add(instant_ns),
            end_ns: self.end_ns.saturating_add(instant_ns),
            ..self
        }
    }
}
