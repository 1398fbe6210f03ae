//! Which captured wake-ups are late, and how late the periods of a thread were.

use super::{Run, ThreadRun};
use crate::lateness::PeriodLateness;
use crate::spike::{Spike, SpikeReason};

/// An ordinary wake-up takes at most this many medians of its thread.
const ORDINARY_MEDIANS: i64 = 4;
/// With fewer samples of a thread, all its maxima are spikes.
const ORDINARY_SAMPLES_MIN: u64 = 1000;
/// With fewer samples of a thread, one late sample can be the median.
const MEDIAN_SAMPLES_MIN: u64 = 20;

impl Run {
    /// Whether a captured wake-up is a spike, for every verb and page: over the limit, or later than
    /// [`Self::ordinary_ns`]. Control samples are not, and neither are the first maxima of a thread, which are often
    /// close to its median.
    pub fn is_late(&self, spike: &Spike) -> bool {
        self.decides(spike.thread) && self.is_outstanding(spike)
    }

    fn is_outstanding(&self, spike: &Spike) -> bool {
        match spike.reason {
            SpikeReason::Control => false,
            SpikeReason::OverLimit => true,
            SpikeReason::NewMaximum => {
                self.recordings.contains_key(&spike.number)
                    || self.ordinary_ns(spike.thread).is_none_or(|ordinary_ns| spike.sample.latency_ns > ordinary_ns)
            }
        }
    }

    /// The captured wake-ups that are spikes, in chronological order.
    pub fn late_spikes(&self) -> impl Iterator<Item = &Spike> {
        self.spikes.iter().filter(|spike| self.is_late(spike))
    }

    /// Whether a spike was captured as a maximum of its stretch, and not of the run.
    pub fn is_maximum_of_its_stretch_alone(&self, spike: &Spike) -> bool {
        let is_larger = |other: &Spike| {
            other.thread == spike.thread
                && other.sample.seen_ns() < spike.sample.seen_ns()
                && other.sample.latency_ns > spike.sample.latency_ns
        };
        spike.reason == SpikeReason::NewMaximum && self.spikes.iter().any(is_larger)
    }

    /// Whether this is the number of a captured wake-up that is not a spike.
    pub fn is_ordinary(&self, number: u32) -> bool {
        self.spikes.iter().any(|spike| spike.number == number && !self.is_late(spike))
    }

    /// The latency of a thread's ordinary wake-ups: the p99, but never more than [`ORDINARY_MEDIANS`] medians, so that
    /// a disturbance of every tenth wake-up does not count as ordinary. `None` if there are too few samples.
    fn ordinary_ns(&self, thread: u32) -> Option<i64> {
        let histogram = &self.threads.get(&thread)?.histogram;
        if histogram.total() < ORDINARY_SAMPLES_MIN {
            return None;
        }
        let median_ns = histogram.quantile_ns(0.5)?;
        Some(histogram.quantile_ns(0.99)?.min(median_ns.saturating_mul(ORDINARY_MEDIANS)))
    }

    /// The fixed interval between periods of every measuring thread in ns; `None` if a thread is watched, intervals are
    /// random, or another tool measured, which does not count missed periods.
    pub fn period_ns(&self) -> Option<i64> {
        let manifest = self.manifest.as_ref().filter(|manifest| manifest.imported.is_none())?;
        let settings = manifest.settings.as_ref()?;
        let fixed = settings.watch.is_none() && settings.dither_seed.is_none();
        i64::try_from(settings.interval_ns).ok().filter(|ns| fixed && *ns > 0)
    }

    /// How late each period of a thread was, those that it missed included.
    pub fn lateness(&self, thread: &ThreadRun) -> PeriodLateness {
        PeriodLateness::of(&thread.histogram, &thread.totals, self.period_ns())
    }

    /// Median latency of a thread over the run, in ns. `None` if there are too few samples: the only one is its own median,
    /// and yet may be late.
    pub fn latency_ns_median(&self, thread: u32) -> Option<i64> {
        let histogram = &self.threads.get(&thread)?.histogram;
        (histogram.total() >= MEDIAN_SAMPLES_MIN).then(|| histogram.quantile_ns(0.5))?
    }
}
