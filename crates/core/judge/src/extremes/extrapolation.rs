//! The median of the maximum of a longer time, or why it cannot be estimated.

use super::gate::{Gate, block_maxima, pass};
use super::other_causes::{high_of_few, low_without_others, others};
use super::threshold::{PEAKS_MIN, apart, extremal_index, largest, tail, tied};
use super::{Profile, maxima};
use crate::coin::Coin;
use crate::refusal::Refusal;
use archive::explanation::{Explanation, ExplanationStatus};
use archive::problem::Remark;
use archive::reader::{Run, ThreadRun};
use archive::summary::RunSummary;
pub use claims::extrapolation::{Estimate, Extrapolation};
use std::collections::BTreeSet;

/// Longest horizon, as a multiple of the test's length.
pub const HORIZON_MAX: f64 = 10.0;
/// An interval whose upper end lies this many times above the estimate bounds nothing.
const BOUND_FACTOR_MAX: f64 = 10.0;
/// Largest share of equal peaks: with more, the clock or a rounding is too coarse.
const TIED_MAX: f64 = 0.05;
/// A clock is fine enough if its step is at most this part of the spread of the largest latencies.
const STEP_MAX: f64 = 0.05;
/// Peaks come in clusters if more than a fifth of them have a neighbour.
const EXTREMAL_INDEX_MIN: f64 = 0.8;
const PEAK_S_MAX: usize = 60;
/// Largest share of seconds without a record.
const MISSING_MAX: f64 = 0.01;

/// The gate, passed or not, and the estimate or the reason for its refusal.
pub type Answer = (Gate, Result<Estimate, Refusal>);

/// Extrapolates each thread of a run to `horizon_hours`. CPUs are never pooled.
pub fn extrapolate(
    run: &Run,
    summary: &RunSummary,
    explanations: &[Explanation],
    horizon_hours: f64,
    confidence: f64,
) -> Vec<Extrapolation> {
    let answer = |thread: &ThreadRun| {
        let (gate, estimate) = match sound(summary, thread, horizon_hours) {
            Err(why) => (Gate::default(), Err(why)),
            Ok(seconds) => {
                let (gate, estimate) = of_seconds(&seconds, horizon_hours * 3600.0, confidence);
                let alike = |estimate: Estimate| one_cause(run, explanations, thread, &estimate).map(|()| estimate);
                (gate, estimate.and_then(alike))
            }
        };
        result((thread.thread, thread.cpu), horizon_hours, summary.measured_ns, (gate, estimate), confidence)
    };
    run.threads.values().map(answer).collect()
}

fn result(
    (thread, cpu): (u32, u32),
    horizon_hours: f64,
    measured_ns: Option<i64>,
    (gate, estimate): Answer,
    confidence: f64,
) -> Extrapolation {
    let peaks = estimate.as_ref().map_or(0, |estimate| estimate.peaks as usize);
    let refusal = estimate.as_ref().err().map(Remark::new);
    let (estimate, sentence) = (estimate.ok(), String::new());
    let mut result = Extrapolation { thread, cpu, horizon_hours, gate, estimate, refusal, sentence };
    result.sentence = words::claims::extrapolation::sentence(&result, measured_ns, others(peaks), confidence);
    result
}

/// The maxima of a thread's seconds in ns, if its run may be extrapolated at all.
fn sound(summary: &RunSummary, thread: &ThreadRun, horizon_hours: f64) -> Result<Vec<f64>, Refusal> {
    if !summary.valid {
        return Err(Refusal::InvalidRun(Remark::joined(&summary.invalid_because)));
    }
    if summary.virtual_time {
        return Err(Refusal::VirtualTime);
    }
    if summary.emulated {
        return Err(Refusal::Emulated);
    }
    let measured_s = summary.measured_ns.filter(|ns| *ns > 0).map(|ns| ns as f64 / 1e9);
    let Some(measured_s) = measured_s else { return Err(Refusal::LengthUnknown) };
    if horizon_hours * 3600.0 > HORIZON_MAX * measured_s * (1.0 + 1e-9) {
        let allowed = HORIZON_MAX * measured_s / 3600.0;
        return Err(Refusal::HorizonTooLong { asked: horizon_hours, factor: HORIZON_MAX, allowed });
    }
    if thread.seconds.is_empty() {
        return Err(Refusal::NoSeconds);
    }
    let gaps_are_normal = summary.settings.as_ref().is_some_and(|settings| settings.interval_ns >= 500_000_000);
    let missing = 1.0 - thread.seconds.len() as f64 / measured_s.floor().max(1.0);
    if missing > MISSING_MAX && !gaps_are_normal {
        return Err(Refusal::SecondsMissing(missing * 100.0));
    }
    Ok(thread.seconds.iter().map(|second| second.latency_ns_max.max(0) as f64).collect())
}

/// The median of the maximum of `horizon_s` from the maxima of seconds, all in the unit of the maxima. Applies the
/// gate.
pub fn of_seconds(seconds: &[f64], horizon_s: f64, confidence: f64) -> Answer {
    let spread_out = without_ties(seconds);
    let seconds = spread_out.as_deref().unwrap_or(seconds);
    let (gate, maxima) = match pass(seconds) {
        Ok(passed) => passed,
        Err((gate, why)) => return (gate, Err(why)),
    };
    let estimate = estimate(seconds, &maxima, f64::from(gate.block_s), horizon_s, confidence);
    (gate, estimate)
}

fn estimate(
    seconds: &[f64],
    blocks: &[f64],
    block_s: f64,
    horizon_s: f64,
    confidence: f64,
) -> Result<Estimate, Refusal> {
    let (peak_s, peaks) = separate_peaks(seconds)?;
    let candidates = largest(&peaks).ok_or_else(|| too_few(peaks.len(), peak_s))?;
    let share = tied(&candidates);
    if share > TIED_MAX {
        return Err(Refusal::ClockTooCoarse(share * 100.0));
    }
    if let Some(count) = apart(&candidates) {
        return Err(Refusal::StandsApart(count));
    }
    let tail = tail(&candidates).ok_or(Refusal::TailIrregular)?;
    let per_second = tail.excesses.len() as f64 / (peaks.len() * peak_s) as f64;
    // The median of the largest of n lies at the level that one of n / ln 2 exceeds on average.
    let half = std::f64::consts::LN_2;
    // The threshold was chosen from the same data, which spends half of the allowed error.
    let both = 1.0 - (1.0 - confidence) / 2.0;
    let peaks_in_horizon = per_second * horizon_s / half;
    let excess = tail.fit.excess_interval(&tail.excesses, peaks_in_horizon, both).ok_or(Refusal::TailTooShort)?;
    let up = |value: f64| tail.threshold + value;
    let fitted = Profile { value: up(excess.value), low: excess.low.map(up), high: excess.high.map(up) };
    let low = low_without_others(&tail.excesses, peaks_in_horizon, both).map(up);
    let high = high_of_few(&candidates, horizon_s / (peaks.len() * peak_s) as f64, confidence);
    let median = Profile {
        value: fitted.value,
        low: fitted.low.zip(low).map(|(all, rest)| all.min(rest)),
        high: fitted.high.zip(high).map(|(all, few)| all.max(few)),
    };
    if median.high.is_none_or(|high| high > BOUND_FACTOR_MAX * median.value) {
        return Err(Refusal::NoUsefulBound);
    }
    let shape = tail.fit.shape(&tail.excesses, both).ok_or(Refusal::NoShape)?;
    let fit = maxima::fit(blocks).ok_or(Refusal::BlocksNotFitted)?;
    let check = fit.level(blocks, half * block_s / horizon_s, both);
    let check = check.ok_or(Refusal::NoCrossCheck)?;
    let disjoint = check.high.is_some_and(|high| fitted.low.is_some_and(|low| high < low)) || check.low > fitted.high;
    if disjoint {
        return Err(Refusal::Contradiction);
    }
    Ok(Estimate {
        median_maximum_ns: median,
        cross_check_ns: check,
        threshold_ns: tail.threshold,
        peaks: tail.excesses.len() as u32,
        peak_s: peak_s as u32,
        shape,
    })
}

/// The same series with each value at random within its step, if many of the largest are equal and the step is small
/// against their spread; a quiet machine has many equal latencies even with a clock that counts nanoseconds.
fn without_ties(seconds: &[f64]) -> Option<Vec<f64>> {
    let candidates = largest(seconds)?;
    if tied(&candidates) <= TIED_MAX {
        return None;
    }
    let mut sorted = seconds.to_vec();
    sorted.sort_by(f64::total_cmp);
    let steps = sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > 0.0);
    let step = steps.min_by(f64::total_cmp)?;
    let lowest = candidates[candidates.len() - 1];
    let spread = candidates.iter().map(|peak| peak - lowest).sum::<f64>() / candidates.len() as f64;
    let mut coin = Coin::new(candidates.len() as u64);
    (step <= STEP_MAX * spread).then(|| seconds.iter().map(|value| value + step * coin.unit()).collect())
}

/// Peaks that come singly: the maxima of seconds, or of as much longer times as that needs.
fn separate_peaks(seconds: &[f64]) -> Result<(usize, Vec<f64>), Refusal> {
    let mut peak_s = 1;
    loop {
        let peaks = block_maxima(seconds, peak_s);
        let Some(candidates) = largest(&peaks) else { return Err(too_few(peaks.len(), peak_s)) };
        let threshold = candidates[candidates.len() - 1];
        let at: Vec<usize> = (0..peaks.len()).filter(|at| peaks[*at] > threshold).collect();
        if extremal_index(&at).is_none_or(|index| index >= EXTREMAL_INDEX_MIN) {
            return Ok((peak_s, peaks));
        }
        peak_s *= 2;
        if peak_s > PEAK_S_MAX {
            return Err(Refusal::BurstsOverAMinute);
        }
    }
}

fn too_few(peaks: usize, peak_s: usize) -> Refusal {
    Refusal::TooFewPeaks { peaks, hours_needed: (PEAKS_MIN * peak_s) as f64 / 3600.0 }
}

/// # Errors
/// The causes, if the explained peaks over the threshold have more than one.
fn one_cause(run: &Run, explanations: &[Explanation], thread: &ThreadRun, estimate: &Estimate) -> Result<(), Refusal> {
    let peak = |number| {
        run.spikes.iter().any(|spike| {
            spike.number == number
                && spike.thread == thread.thread
                && run.is_late(spike)
                && spike.sample.latency_ns as f64 > estimate.threshold_ns
        })
    };
    let explained = explanations
        .iter()
        .filter(|explanation| explanation.status == ExplanationStatus::Explained && peak(explanation.spike));
    let causes: BTreeSet<&str> =
        explained.filter_map(|explanation| Some(explanation.findings.first()?.culprit.id())).collect();
    if causes.len() < 2 {
        return Ok(());
    }
    let causes: Vec<&str> = causes.into_iter().collect();
    Err(Refusal::SeveralCauses(causes.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fixtures::assert_sentence;

    /// Maxima of seconds with an exponential tail of 8 µs.
    fn seconds(count: usize) -> Vec<f64> {
        let mut coin = Coin::new(77);
        (0..count).map(|_| 20_000.0 - 8_000.0 * (1.0 - coin.unit()).ln()).collect()
    }

    #[test]
    fn a_regular_tail_has_an_estimate_with_an_interval() {
        let (gate, estimate) = of_seconds(&seconds(7200), 72_000.0, 0.95);
        let estimate = estimate.unwrap();
        // The median of the largest of 72 000 exponential values.
        let truth = 20_000.0 + 8_000.0 * (72_000.0f64 / std::f64::consts::LN_2).ln();
        let median = estimate.median_maximum_ns;
        assert!(median.low.unwrap() < truth && truth < median.high.unwrap(), "{median:?} {truth}");
        assert!(median.high.unwrap() < 2.0 * median.value);
        assert_eq!((gate.block_s, estimate.peak_s), (60, 1));
    }

    #[test]
    fn an_unfit_series_is_refused() {
        let refused = |seconds: &[f64]| of_seconds(seconds, 1e4, 0.95).1.unwrap_err();
        let rounded: Vec<f64> = seconds(7200).iter().map(|ns| (ns / 1000.0).round() * 1000.0).collect();
        assert!(matches!(refused(&rounded), Refusal::ClockTooCoarse(_)), "{}", refused(&rounded));
        let quiet: Vec<f64> = seconds(7200).iter().map(|ns| (ns / 200.0).floor()).collect();
        let estimate = of_seconds(&quiet, 1e4, 0.95).1;
        assert!(estimate.is_ok(), "a spread of 40 ns and a clock of 1 ns: {estimate:?}");
        let mut two_kinds = seconds(7200);
        two_kinds[3000] = 900_000.0;
        assert_eq!(refused(&two_kinds), Refusal::StandsApart(1));
        assert!(matches!(refused(&seconds(600)), Refusal::TooShort { .. }));
        assert!(matches!(refused(&[]), Refusal::TooShort { .. }));
        let bursts: Vec<f64> = seconds(20_000).chunks(40).flat_map(|part| vec![part[0]; part.len()]).collect();
        let clusters = |why: &Refusal| {
            matches!(why, Refusal::BlocksCluster(_) | Refusal::TooFewPeaks { .. } | Refusal::BurstsOverAMinute)
        };
        assert!(clusters(&refused(&bursts)), "{}", refused(&bursts));
    }

    #[test]
    fn the_sentence_says_what_it_does_not_say() {
        let (_, estimate) = of_seconds(&seconds(7200), 72_000.0, 0.95);
        let result = result((0, 3), 20.0, Some(7_200_000_000_000), (Gate::default(), estimate), 0.95);
        let sentence = result.sentence;
        assert_sentence!("extrapolation", sentence);
        for word in ["worst case", "WCET", "guarantee", "never"] {
            assert!(!sentence.contains(word), "{sentence}");
        }
    }
}
