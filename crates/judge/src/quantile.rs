//! Whether a quantile lies below a latency: how many samples are over it, divided by how much they come together.

use crate::bounds::probability;
use crate::refusal::Refusal;
use crate::verdict::{CpuJudgement, Levels, Verdict};
use archive::problem::Remark;
use archive::reader::{Run, ThreadRun};
use serde::{Deserialize, Serialize};

/// Blocks of seconds over which samples are counted for their dispersion; the longest that leaves enough of them.
const BLOCKS_S: [usize; 3] = [60, 10, 1];
const BLOCKS_WANTED: usize = 30;
const BLOCKS_MIN: usize = 10;

/// Samples over a latency and how much they come together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct QuantileCounts {
    pub samples: u64,
    pub over: u64,
    /// Variance over mean of the counts of samples over the latency in blocks, at least 1. So many samples count as one.
    pub dispersion: f64,
    /// Length of those blocks in seconds.
    pub block_s: u32,
    /// Seconds that were counted.
    pub seconds: u64,
}

impl QuantileCounts {
    /// # Errors
    /// Why the archive cannot tell. Counts of each second exist for the limit of the run alone.
    pub fn of(run: &Run, thread: &ThreadRun, latest_ns: i64, measured_ns: Option<i64>) -> Result<Self, Refusal> {
        let settings = run.manifest.as_ref().and_then(|manifest| manifest.settings.as_ref());
        let counted_ns = settings.and_then(|settings| settings.limit_ns);
        // `<` and `<=` differ by a nanosecond, which a run does not count apart.
        let same = counted_ns.is_some_and(|ns| ns == latest_ns || ns.checked_sub(1) == Some(latest_ns));
        if !same || thread.seconds.is_empty() {
            let limit_us = latest_ns.saturating_add(1).div_euclid(1000);
            return Err(Refusal::LimitNotCounted { limit_us });
        }
        let measured = measured_ns.and_then(|ns| usize::try_from(ns / 1_000_000_000).ok());
        let length = thread.seconds.iter().map(|second| second.second as usize + 1).max().unwrap_or(0);
        let length =
            measured.map_or(length, |measured| measured.clamp(1, length.max(1))).min(crate::blocks::SECONDS_MAX);
        let mut over = vec![0u32; length];
        for second in &thread.seconds {
            let slot = &mut over[(second.second as usize).min(length - 1)];
            *slot = slot.saturating_add(second.over_limit);
        }
        let block_s = BLOCKS_S.into_iter().find(|size| length / size >= BLOCKS_WANTED).unwrap_or(1);
        if length / block_s < BLOCKS_MIN {
            return Err(Refusal::TooShortForClusters { length_s: length, needed_s: BLOCKS_MIN * 3 });
        }
        let counts: Vec<f64> =
            over.chunks_exact(block_s).map(|block| block.iter().map(|count| f64::from(*count)).sum()).collect();
        Ok(Self {
            samples: thread.totals.cycles,
            over: thread.totals.over_limit.min(thread.totals.cycles),
            dispersion: dispersion(&counts),
            block_s: block_s as u32,
            seconds: length as u64,
        })
    }
}

/// Variance over mean, at least 1; 1 where nothing was counted.
pub fn dispersion(counts: &[f64]) -> f64 {
    let number = counts.len() as f64;
    let mean = counts.iter().sum::<f64>() / number;
    if counts.len() < 2 || mean <= 0.0 {
        return 1.0;
    }
    let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / (number - 1.0);
    (variance / mean).max(1.0)
}

pub(crate) fn judge_quantile(counts: QuantileCounts, q: f64, levels: Levels) -> CpuJudgement {
    let allowed = 1.0 - q;
    let (trials, hits) = (counts.samples as f64 / counts.dispersion, counts.over as f64 / counts.dispersion);
    let high = probability(hits, trials, levels.pass).1;
    let low = probability(hits, trials, levels.fail).0;
    let seen = if counts.samples > 0 { counts.over as f64 / counts.samples as f64 } else { 0.0 };
    let verdict = if low > allowed {
        Verdict::Fail
    } else if high < allowed {
        Verdict::Pass
    } else {
        Verdict::NotEnoughData
    };
    let hours = counts.seconds as f64 / 3600.0;
    CpuJudgement {
        hours,
        samples: Some(counts),
        seen,
        low,
        high,
        hours_needed: Some(hours * (factor_needed(hits, trials, allowed, levels.pass) - 1.0))
            .filter(|needed| verdict == Verdict::NotEnoughData && needed.is_finite() && *needed > 0.0),
        because: (counts.dispersion > 1.05).then(|| Remark::new(&Refusal::Clusters(counts.dispersion))),
        ..CpuJudgement::empty(verdict)
    }
}

/// How many times as long a run like this one would have to be for PASS; infinite if it never would.
fn factor_needed(hits: f64, trials: f64, allowed: f64, confidence: f64) -> f64 {
    if trials <= 0.0 || hits / trials >= allowed {
        return f64::INFINITY;
    }
    let passes = |factor: f64| probability(hits * factor, trials * factor, confidence).1 < allowed;
    let mut factor = 1.0;
    while !passes(factor) && factor < 1e6 {
        factor *= 1.25;
    }
    if factor < 1e6 { factor } else { f64::INFINITY }
}
