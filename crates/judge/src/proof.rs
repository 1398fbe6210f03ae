//! What the length of a run proves by itself, without any limit: what its maximum means, between which latencies its
//! quantiles lie, how likely the next late wake-up has a cause not seen yet.

use crate::bounds::{new_maximum, quantile_ranks, time_needed, unseen_cause};
use crate::quantile::dispersion;
use crate::words::{hours, percent, time};
use archive::explanation::{Explanation, ExplanationStatus};
use archive::histogram::{Histogram, bucket_of};
use archive::reader::{Run, ThreadRun};
use archive::summary::RunSummary;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Quantiles that an interval is looked for.
const QUANTILES: [(&str, f64); 4] =
    [("p99.99", 0.9999), ("p99.999", 0.99999), ("p99.9999", 0.999999), ("p99.99999", 0.9999999)];
/// The maximum of a second stands for its samples over a quantile while there are fewer than this many on average.
const OVER_A_SECOND_MAX: f64 = 0.5;
/// Blocks over which samples are counted for their dispersion, in seconds.
const BLOCK_S: usize = 10;
const BLOCKS_MIN: usize = 10;
/// Rates whose test length is told, and the hours a horizon lies ahead.
const RATES: [(&str, f64); 4] =
    [("1/h", 1.0), ("1/day", 1.0 / 24.0), ("1/week", 1.0 / 168.0), ("1/year", 1.0 / 8766.0)];
const HORIZONS_HOURS: [f64; 3] = [24.0, 168.0, 8766.0];

/// Between which latencies a quantile lies, in ns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuantileInterval {
    pub quantile: String,
    pub low_ns: Option<i64>,
    /// `None`: the run is too short for an upper bound.
    pub high_ns: Option<i64>,
    pub dispersion: f64,
}

/// What one CPU's samples prove.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuProof {
    pub thread: u32,
    pub cpu: u32,
    pub max_ns: Option<i64>,
    pub quantiles: Vec<QuantileInterval>,
}

/// Probability that a later run of some length sets a new maximum.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NewMaximum {
    pub next_hours: f64,
    pub probability: f64,
}

/// Hours without any event that show a rate to be lower.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestLength {
    pub rate: String,
    pub hours: f64,
}

/// Causes among the explained spikes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NewCause {
    pub spikes: u64,
    /// Spikes that are the only one of their cause.
    pub once: u64,
    /// Spikes with a trace that nothing explains; each may be of a cause of its own. Older documents do not count them.
    #[serde(default)]
    pub unexplained: u64,
    pub probability: f64,
    /// At the confidence asked for.
    pub high: f64,
}

/// What a run proves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    pub hours: f64,
    pub confidence: f64,
    pub cpus: Vec<CpuProof>,
    pub new_maximum: Vec<NewMaximum>,
    pub test_lengths: Vec<TestLength>,
    pub new_cause: Option<NewCause>,
    /// The same in words.
    pub sentences: Vec<String>,
}

/// What a run proves; `None` when it measured nothing, or nobody knows for how long.
pub fn proof(run: &Run, summary: &RunSummary, explanations: &[Explanation], confidence: f64) -> Option<Proof> {
    let length = summary.measured_ns.filter(|ns| *ns > 0)? as f64 / 3.6e12;
    let cpus: Vec<CpuProof> = run.threads.values().map(|thread| cpu_proof(thread, length, confidence)).collect();
    let max_ns = cpus.iter().filter_map(|cpu| cpu.max_ns).max()?;
    let horizons = std::iter::once(length).chain(HORIZONS_HOURS.into_iter().filter(|next| *next > length));
    let lengths = RATES.into_iter().filter_map(|(rate, per_hour)| {
        Some(TestLength { rate: rate.into(), hours: time_needed(per_hour, 0, confidence)? })
    });
    let mut proof = Proof {
        hours: length,
        confidence,
        cpus,
        new_maximum: horizons
            .map(|next_hours| NewMaximum { next_hours, probability: new_maximum(length, next_hours) })
            .collect(),
        test_lengths: lengths.collect(),
        new_cause: new_cause(run, explanations, confidence),
        sentences: Vec::new(),
    };
    proof.sentences = sentences(&proof, max_ns);
    Some(proof)
}

fn cpu_proof(thread: &ThreadRun, length: f64, confidence: f64) -> CpuProof {
    let quantiles = QUANTILES.into_iter().filter_map(|(name, q)| interval(thread, length, name, q, confidence));
    CpuProof {
        thread: thread.thread,
        cpu: thread.cpu,
        max_ns: thread.totals.latency_ns_max,
        quantiles: quantiles.collect(),
    }
}

fn interval(thread: &ThreadRun, length: f64, name: &str, q: f64, confidence: f64) -> Option<QuantileInterval> {
    let samples = thread.histogram.total();
    let over_a_second = samples as f64 * (1.0 - q) / (length * 3600.0);
    let value_ns = thread.histogram.quantile_ns(q)?;
    if over_a_second > OVER_A_SECOND_MAX {
        return None;
    }
    // Where few samples are over it, seconds whose maximum is over it hold one of them or one burst.
    let seconds = thread.seconds.iter().map(|second| second.second as usize + 1).max()?;
    if !(BLOCKS_MIN * BLOCK_S..crate::blocks::SECONDS_MAX).contains(&seconds) {
        return None;
    }
    let mut over = vec![0.0; seconds / BLOCK_S];
    for second in thread.seconds.iter().filter(|second| second.latency_ns_max > value_ns) {
        if let Some(count) = over.get_mut(second.second as usize / BLOCK_S) {
            *count += 1.0;
        }
    }
    let dispersion = with_bursts(dispersion(&over), over.iter().sum(), &thread.histogram, value_ns);
    let independent = (samples as f64 / dispersion).floor() as u64;
    let ranks = quantile_ranks(independent, q, confidence)?;
    let max_ns = thread.totals.latency_ns_max?;
    let value = |rank: u64| {
        let rank = (rank as f64 * dispersion).ceil().min(samples as f64) as u64;
        thread.histogram.value_of_rank_ns(rank).map(|ns| ns.min(max_ns))
    };
    // Without an upper bound the quantile is one of which nothing but "at most anything" is known.
    let high_ns = ranks.high.and_then(value)?;
    Some(QuantileInterval {
        quantile: name.into(),
        low_ns: ranks.low.and_then(value),
        high_ns: Some(high_ns),
        dispersion,
    })
}

/// Dispersion of samples from that of the seconds that hold them: as many as share such a second come at once, in numbers
/// that scatter like a geometric distribution's.
fn with_bursts(seconds_dispersion: f64, seconds: f64, histogram: &Histogram, value_ns: i64) -> f64 {
    let Some(value) = bucket_of(value_ns) else { return seconds_dispersion };
    let over = histogram.buckets.iter().filter(|(bucket, _)| *bucket as usize > value);
    let over = over.fold(0u64, |sum, (_, count)| sum.saturating_add(*count)) as f64;
    let burst = (over / seconds.max(1.0)).max(1.0);
    (2.0 * burst - 1.0) + burst * (seconds_dispersion - 1.0)
}

fn new_cause(run: &Run, explanations: &[Explanation], confidence: f64) -> Option<NewCause> {
    let mut causes: BTreeMap<&str, u64> = BTreeMap::new();
    let mut unexplained = 0;
    for explanation in explanations.iter().filter(|explanation| !run.is_ordinary(explanation.spike)) {
        match (explanation.status, explanation.findings.first()) {
            (ExplanationStatus::Explained, Some(finding)) => *causes.entry(&finding.culprit).or_default() += 1,
            (ExplanationStatus::NotExplained, _) => unexplained += 1,
            (ExplanationStatus::Explained | ExplanationStatus::NoTrace, _) => {}
        }
    }
    let spikes: u64 = causes.values().sum();
    if spikes == 0 {
        return None;
    }
    let once = causes.values().filter(|count| **count == 1).count() as u64;
    let (probability, high) = unseen_cause(spikes + unexplained, once + unexplained, confidence)?;
    Some(NewCause { spikes, once, unexplained, probability, high })
}

fn sentences(proof: &Proof, max_ns: i64) -> Vec<String> {
    let mut sentences = Vec::new();
    // Of horizons that are certain for everyday purposes the first says enough.
    let certain = proof.new_maximum.iter().position(|next| next.probability > 0.999).unwrap_or(usize::MAX);
    let later: Vec<String> = proof
        .new_maximum
        .iter()
        .take(certain.saturating_add(1))
        .map(|next| format!("{} in the next {}", share(next.probability), hours(next.next_hours)))
        .collect();
    sentences.push(format!(
        "The maximum of {} is no bound: if nothing changes, a new one comes with probability {}.",
        time(max_ns as f64),
        later.join(", ")
    ));
    if let Some(cause) = proof.new_cause {
        let bound = if cause.high < 1.0 {
            format!(", at most {} with {} confidence", share(cause.high), percent(proof.confidence))
        } else {
            String::new()
        };
        let unexplained = match cause.unexplained {
            0 => String::new(),
            1 => ", and 1 is not explained and may be, too".into(),
            many => format!(", and {many} are not explained and may be, too"),
        };
        sentences.push(format!(
            "{} of {} explained spikes {} the only one of {} kind{unexplained}: the next spike has a cause not seen yet \
             with probability {}{bound}.",
            cause.once,
            cause.spikes,
            if cause.once == 1 { "was" } else { "were" },
            if cause.once == 1 { "its" } else { "their" },
            share(cause.probability)
        ));
    }
    let lengths: Vec<String> =
        proof.test_lengths.iter().map(|length| format!("{} for {}", hours(length.hours), length.rate)).collect();
    sentences.push(format!(
        "To show with {} confidence that something comes less often takes a test without it of {}.",
        percent(proof.confidence),
        lengths.join(", ")
    ));
    sentences
}

/// A probability as people read it; never one that rounding made certain.
fn share(probability: f64) -> String {
    match probability * 100.0 {
        p if p > 99.95 && p < 100.0 => "over 99.9 %".into(),
        p if p > 0.0 && p < 0.05 => "under 0.1 %".into(),
        p if (10.0..99.0).contains(&p) => format!("{p:.0} %"),
        p => format!("{p:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::message::RunPhase;
    use archive::sample::{Second, Totals};

    fn run(seconds: u32) -> Run {
        let late = |second: u32| second % 20 == 3;
        let records = (0..seconds).map(|second| Second {
            second,
            cycles: 1000,
            latency_ns_max: if late(second) { 500 } else { 100 },
            ..Second::default()
        });
        let over = (0..seconds).filter(|second| late(*second)).count() as u64;
        let samples = u64::from(seconds) * 1000;
        let histogram = Histogram {
            buckets: vec![(bucket_of(100).unwrap() as u32, samples - over), (bucket_of(500).unwrap() as u32, over)],
        };
        let totals = Totals { cycles: samples, latency_ns_max: Some(500), ..Totals::default() };
        let thread = ThreadRun { totals, histogram, seconds: records.collect(), ..ThreadRun::default() };
        Run {
            threads: BTreeMap::from([(0, thread)]),
            phases: vec![(RunPhase::Measure, 0), (RunPhase::Collect, i64::from(seconds) * 1_000_000_000)],
            ..Run::default()
        }
    }

    #[test]
    fn a_day_says_what_the_next_day_may_bring() {
        let run = run(86_400);
        let proof = proof(&run, &RunSummary::of(&run, &[]), &[], 0.95).unwrap();
        let probabilities: Vec<f64> = proof.new_maximum.iter().map(|next| next.probability).collect();
        assert_eq!((proof.hours, probabilities[0], probabilities.len()), (24.0, 0.5, 3));
        let expected = "The maximum of 500 ns is no bound: if nothing changes, a new one comes with probability 50 % in the \
                        next 24.0 h, 88 % in the next 7 days, 99.7 % in the next 365 days.";
        assert_eq!(proof.sentences[0], expected);
        assert!(proof.sentences[1].contains("3.0 h for 1/h, 3 days for 1/day"), "{}", proof.sentences[1]);
        // One in 20 000 is over: p99.99 is 100 ns, p99.999 is 500 ns, for certain.
        let quantiles = &proof.cpus[0].quantiles;
        assert_eq!((quantiles[0].low_ns, quantiles[0].high_ns, quantiles[0].dispersion), (Some(100), Some(100), 1.0));
        assert_eq!((quantiles[1].low_ns, quantiles[1].high_ns), (Some(500), Some(500)));
    }

    #[test]
    fn bursts_inside_of_a_second_widen_the_interval() {
        let mut run = run(86_400);
        let histogram = &mut run.threads.get_mut(&0).unwrap().histogram;
        // Every other late second has two samples instead of one.
        histogram.buckets[1].1 = histogram.buckets[1].1 * 3 / 2;
        let proof = proof(&run, &RunSummary::of(&run, &[]), &[], 0.95).unwrap();
        let dispersions: Vec<f64> = proof.cpus[0].quantiles.iter().map(|interval| interval.dispersion).collect();
        assert!((dispersions[0] - 2.0).abs() < 0.01, "{dispersions:?}");
    }

    #[test]
    fn a_short_run_proves_little_and_says_so() {
        let run = run(20);
        let proof = proof(&run, &RunSummary::of(&run, &[]), &[], 0.95).unwrap();
        assert!(proof.cpus[0].quantiles.is_empty());
        assert!(
            proof.sentences[0].ends_with("50 % in the next 20 s, over 99.9 % in the next 24.0 h."),
            "{}",
            proof.sentences[0]
        );
        let empty = Run::default();
        assert_eq!(super::proof(&empty, &RunSummary::of(&empty, &[]), &[], 0.95), None);
    }
}
