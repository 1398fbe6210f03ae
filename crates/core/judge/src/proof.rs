//! The proof of a run by its length, without any limit: the meaning of its maximum, the intervals in which its quantiles
//! lie, and how likely the next late wake-up has a new cause.

use crate::bounds::{new_maximum, time_needed};
use crate::lateness::{Lateness, missed_are_known};
use crate::quantile::{Stretches, stretches, stretches_needed};
use crate::readings::Readings;
use archive::causes::NewCause as SeenCauses;
use archive::histogram::{bucket_high_ns, bucket_low_ns};
use archive::reader::{Run, ThreadRun};
use archive::summary::RunSummary;
use claims::limit::DISTURBANCE_S;
pub use claims::proof::{CpuProof, NewCause, NewMaximum, Proof, QuantileInterval, TestLength};

/// Quantiles that get an interval.
const QUANTILES: [(&str, f64); 6] = [
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
    ("p99.999", 0.99999),
    ("p99.9999", 0.999999),
    ("p99.99999", 0.9999999),
];
/// Number of quantiles whose test length is shown.
const LENGTHS_SHOWN: usize = 3;
/// Rates whose test length is shown, and the hours of each horizon.
const RATES: [(&str, f64); 4] =
    [("1/h", 1.0), ("1/day", 1.0 / 24.0), ("1/week", 1.0 / 168.0), ("1/year", 1.0 / 8766.0)];
const HORIZONS_HOURS: [f64; 3] = [24.0, 168.0, 8766.0];

fn new_cause(seen: &SeenCauses, confidence: f64) -> Option<NewCause> {
    let (probability, high) = seen.bounds(confidence)?;
    let (spikes, once) = (u64::from(seen.attributed), u64::from(seen.seen_once));
    Some(NewCause { spikes, once, unexplained: u64::from(seen.unexplained), probability, high })
}

/// The tests after which the next quantiles have an interval with an upper end on every CPU.
fn quantile_lengths(cpus: &[CpuProof], confidence: f64) -> Vec<TestLength> {
    let missing = |name: &str| cpus.iter().any(|cpu| cpu.quantiles.iter().all(|known| known.quantile != name));
    let lengths = QUANTILES.into_iter().filter(|(name, _)| missing(name)).filter_map(|(name, q)| {
        let stretches = stretches_needed(1.0 - q, 0, (1.0 + confidence) / 2.0)?;
        Some(TestLength { rate: name.into(), hours: stretches * f64::from(DISTURBANCE_S) / 3600.0 })
    });
    lengths.take(LENGTHS_SHOWN).collect()
}

/// The proof of a run with these causes; `None` if it measured nothing, or for an unknown time.
pub fn proof(run: &Run, summary: &RunSummary, causes: Option<&SeenCauses>, confidence: f64) -> Option<Proof> {
    let length = summary.measured_ns.filter(|ns| *ns > 0)? as f64 / 3.6e12;
    let cpus: Vec<CpuProof> = run.threads.values().map(|thread| cpu_proof(run, summary, thread, confidence)).collect();
    let max_ns = cpus.iter().filter_map(|cpu| cpu.max_ns).max()?;
    let horizons = std::iter::once(length).chain(HORIZONS_HOURS.into_iter().filter(|next| *next > length));
    let lengths = RATES.into_iter().filter_map(|(rate, per_hour)| {
        Some(TestLength { rate: rate.into(), hours: time_needed(per_hour, 0, confidence)? })
    });
    let mut proof = Proof {
        hours: length,
        confidence,
        new_maximum: horizons
            .map(|next_hours| NewMaximum { next_hours, probability: new_maximum(length, next_hours) })
            .collect(),
        test_lengths: lengths.collect(),
        new_cause: causes.and_then(|seen| new_cause(seen, confidence)),
        quantile_lengths: quantile_lengths(&cpus, confidence),
        cpus,
        sentences: Vec::new(),
    };
    proof.sentences = words::claims::proof::sentences(&proof, causes, words::vocabulary::sample(summary), max_ns);
    Some(proof)
}

fn cpu_proof(run: &Run, summary: &RunSummary, thread: &ThreadRun, confidence: f64) -> CpuProof {
    let quantiles = QUANTILES.into_iter().map_while(|(name, q)| interval(run, summary, thread, (name, q), confidence));
    CpuProof {
        thread: thread.thread,
        cpu: thread.cpu,
        max_ns: thread.totals.latency_ns_max,
        quantiles: quantiles.collect(),
    }
}

/// All latencies at which the quantile may lie as far as the run shows, from the [`stretches`] of each bucket of the
/// periods' lateness. `None` if not even the maximum is an upper bound; then it is not an upper bound of any higher quantile.
fn interval(
    run: &Run,
    summary: &RunSummary,
    thread: &ThreadRun,
    (name, q): (&str, f64),
    confidence: f64,
) -> Option<QuantileInterval> {
    let each_end = (1.0 + confidence) / 2.0;
    let readings = Readings::of(summary);
    let max_ns = thread.totals.latency_ns_max?;
    let periods = run.lateness(thread).known;
    let buckets = &periods.buckets;
    let edge_ns = |at: usize| {
        let high_ns = bucket_high_ns(buckets[at].0 as usize);
        readings.latest_within_ns(bucket_low_ns(buckets[at].0 as usize), high_ns).max(high_ns)
    };
    let stretches_of =
        |at: usize| Some(stretches(&Lateness::of(run, summary, thread, edge_ns(at)).ok()?, DISTURBANCE_S));
    let largest = stretches_of(buckets.len().checked_sub(1)?)?;
    let shown = largest.independent && largest.enough && largest.most.show_less(1.0 - q, each_end);
    if !shown || !missed_are_known(summary, thread) {
        return None;
    }
    // The share of later wake-ups falls from bucket to bucket.
    let first = |holds: &dyn Fn(&Stretches) -> bool| {
        let (mut low, mut high) = (0, buckets.len() - 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if stretches_of(middle).is_some_and(|stretches| holds(&stretches)) {
                high = middle
            } else {
                low = middle + 1
            }
        }
        low
    };
    let low = first(&|stretches| !stretches.least.show_more(1.0 - q, each_end));
    let high = first(&|stretches| stretches.most.show_less(1.0 - q, each_end));
    Some(QuantileInterval {
        quantile: name.into(),
        low_ns: (low > 0).then(|| bucket_low_ns(buckets[low].0 as usize)),
        high_ns: Some(edge_ns(high).min(readings.latest_ns(max_ns))),
        stretch_s: largest.stretch_s as u32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::histogram::{Histogram, bucket_of};
    use archive::message::RunPhase;
    use archive::sample::{Second, Totals};
    use fixtures::assert_sentence;
    use std::collections::BTreeMap;

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
        let proof = proof(&run, &RunSummary::of(&run, &[]), None, 0.95).unwrap();
        let probabilities: Vec<f64> = proof.new_maximum.iter().map(|next| next.probability).collect();
        assert_eq!((proof.hours, probabilities[0], probabilities.len()), (24.0, 0.5, 3));
        assert_sentence!("proof", proof.sentences.join("\n"));
        // One in 20 000 is over: p99 is 100 ns. For p99.9 the run shows no upper bound: a bad minute may still come.
        let quantiles = &proof.cpus[0].quantiles;
        let shown: Vec<(&str, Option<i64>, Option<i64>)> =
            quantiles.iter().map(|known| (known.quantile.as_str(), known.low_ns, known.high_ns)).collect();
        assert_eq!(shown, [("p99", None, Some(100))]);
    }

    #[test]
    fn missed_periods_of_unknown_lateness_leave_quantiles_open() {
        let mut run = run(86_400);
        let thread = run.threads.get_mut(&0).unwrap();
        thread.seconds = thread.seconds.iter().map(|second| Second { missed_periods: 12, ..second }).collect();
        thread.totals.missed_periods = 12 * 86_400;
        let proof = proof(&run, &RunSummary::of(&run, &[]), None, 0.95).unwrap();
        assert_eq!(proof.cpus[0].quantiles, [], "the lateness of more than one in a hundred is unknown");
    }

    #[test]
    fn a_short_run_proves_little_and_says_so() {
        let run = run(20);
        let proof = proof(&run, &RunSummary::of(&run, &[]), None, 0.95).unwrap();
        assert!(proof.cpus[0].quantiles.is_empty());
        assert!(
            proof.sentences[0].ends_with("50 % in the next 20 s, over 99.9 % in the next 24 h."),
            "{}",
            proof.sentences[0]
        );
        let empty = Run::default();
        assert_eq!(super::proof(&empty, &RunSummary::of(&empty, &[]), None, 0.95), None);
    }
}
