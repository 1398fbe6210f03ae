//! Two variants in randomised rounds: which figures differ, by how much, and what would have been seen.

use crate::e_process::{self, evidence};
use crate::figure_name::FigureName;
use crate::figures::{LoadRate, load_rates, quantile_ns};
use crate::multiplicity::{holm, weighted_holm};
use crate::observer::Estimate;
use crate::power::detectable;
use crate::sign_flip::{Interval, PAIRS_MAX, SignFlip};
use crate::unit::Unit;
use archive::explanation::{Explanation, ExplanationStatus};
use archive::histogram::Histogram;
use archive::reader::Run;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use words::amounts::{change, p_value, percent, rough};

/// A quantile resolves when so many samples of a run are expected above it: 25 independent ones where two come together.
const SAMPLES_ABOVE_MIN: f64 = 50.0;
/// The primary figure gets this part of the error that is allowed, the others share the rest.
pub const PRIMARY_PART: f64 = 0.8;

/// When an experiment ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stopping {
    /// After a number of rounds fixed beforehand. The sign-flip test decides.
    #[default]
    FixedRounds,
    /// As soon as a figure is decided. The evidence decides, after every round and at the end.
    UntilDecided,
}

/// How the numbers of a figure are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// By their ratio: latencies, rates of loads.
    Ratio,
    /// By the difference of their roots, which scatter alike however many there are: counts.
    Count,
}

/// A figure that is compared, fixed before the first round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    pub name: FigureName,
    /// Nanoseconds, events a run, or a load's unit for each second.
    pub unit: Unit,
    pub scale: Scale,
}

/// What one run gives to a comparison.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VariantFigures {
    pub values: BTreeMap<FigureName, f64>,
    /// What its loads got done.
    pub loads: Vec<LoadRate>,
    /// Causes of its spikes.
    pub culprits: BTreeSet<String>,
}

/// Both runs of a complete round.
#[derive(Debug, Clone, PartialEq)]
pub struct PairedRound {
    pub a: VariantFigures,
    pub b: VariantFigures,
}

/// What happened to one figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricResult {
    pub metric: Metric,
    /// Geometric means over the rounds; arithmetic ones of counts.
    pub a: f64,
    pub b: f64,
    /// Of b / a; absent for counts.
    pub ratio: Option<Estimate>,
    /// Two-sided and exact.
    pub p_value: f64,
    /// Corrected for the other metrics, of which the primary one has the largest part of the error (Holm).
    pub p_adjusted: f64,
    /// A ratio that would have been found with 80 % probability; absent for counts and where so few rounds find nothing.
    pub detectable: Option<f64>,
    pub differs: bool,
    pub sentence: String,
}

impl MetricResult {
    /// By which factor B is worse, where that is shown: later, more missed, less work done.
    pub fn harm(&self) -> Option<f64> {
        let worse = if self.of_load().is_some() { self.a / self.b } else { self.b / self.a };
        (self.differs && worse > 1.0).then_some(worse)
    }

    /// Name of the load whose work this is, if it is that of one.
    pub fn of_load(&self) -> Option<&str> {
        self.metric.name.load()
    }
}

/// In how many runs of each variant a cause showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CulpritResult {
    pub culprit: String,
    pub a: u32,
    pub b: u32,
    pub p_adjusted: f64,
    pub differs: bool,
}

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A metric of B is shown to be worse.
    Worse,
    /// One is shown to be better, and none to be worse.
    Better,
    NoDifferenceFound,
    TooFewRounds,
}

/// The result of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentResult {
    pub rounds: u32,
    pub confidence: f64,
    #[serde(default)]
    pub stopping: Stopping,
    pub outcome: Outcome,
    pub primary: MetricResult,
    pub secondary: Vec<MetricResult>,
    pub culprits: Vec<CulpritResult>,
    /// Evidence of a difference in the primary metric after each round; 1 / (1 - confidence) decides.
    pub evidence: Vec<f64>,
    pub sentence: String,
}

/// The metrics of an experiment whose runs have so many samples each; the first one is primary: the highest quantile
/// that resolves. What loads get done comes on top, for each that ran in all runs.
pub fn metrics(samples: f64) -> Vec<Metric> {
    let resolves = |q: f64| samples * (1.0 - q) >= SAMPLES_ABOVE_MIN * (1.0 - 1e-9);
    let latency = |name: FigureName| Metric { name, unit: Unit::Nanoseconds, scale: Scale::Ratio };
    let resolved = FigureName::QUANTILES.into_iter().filter(|(_, q)| resolves(*q));
    let mut metrics: Vec<Metric> = resolved.map(|(name, _)| latency(name)).rev().collect();
    if metrics.is_empty() {
        metrics.push(latency(FigureName::P50));
    }
    metrics.push(latency(FigureName::Max));
    let missed = Metric { name: FigureName::MissedPeriods, unit: Unit::PerRun, scale: Scale::Count };
    metrics.push(missed);
    metrics
}

/// What loads get done, for each that all runs have. The processor time of a command tells nothing of that.
fn load_metrics(rounds: &[PairedRound]) -> Vec<Metric> {
    let Some(first) = rounds.first() else { return Vec::new() };
    let metric = |load: &LoadRate| Metric {
        name: FigureName::Load(load.name.clone()),
        unit: Unit::work(&load.unit),
        scale: Scale::Ratio,
    };
    let doing_work = first.a.loads.iter().filter(|load| load.counts_work()).map(metric);
    let unit_of = |figures: &VariantFigures, wanted: &Metric| {
        figures.loads.iter().all(|load| wanted.name.load() != Some(&load.name) || metric(load) == *wanted)
    };
    let everywhere = |wanted: &Metric| {
        let alike = rounds.iter().all(|round| unit_of(&round.a, wanted) && unit_of(&round.b, wanted));
        alike && pairs(rounds, wanted).is_some()
    };
    let mut metrics: Vec<Metric> = doing_work.filter(everywhere).collect();
    metrics.dedup();
    metrics
}

/// The numbers of a run; `None` when it left none.
pub fn variant_figures(run: &Run, explanations: &[Explanation]) -> Option<VariantFigures> {
    let mut all = Histogram::default();
    run.threads.values().for_each(|thread| all.merge(&thread.histogram));
    let mut values: BTreeMap<FigureName, f64> = BTreeMap::new();
    for (name, q) in FigureName::QUANTILES {
        values.insert(name, quantile_ns(&all, q)?);
    }
    let max_ns = run.threads.values().filter_map(|thread| thread.totals.latency_ns_max).max()?;
    values.insert(FigureName::Max, max_ns as f64);
    let missed = run.threads.values().fold(0u64, |sum, thread| sum.saturating_add(thread.totals.missed_periods));
    values.insert(FigureName::MissedPeriods, missed as f64);
    let loads = load_rates(run);
    for load in &loads {
        // Loads of one name do the same; what all of them get done is the figure.
        *values.entry(FigureName::Load(load.name.clone())).or_default() += load.per_second;
    }
    let explained = explanations.iter().filter(|explanation| {
        explanation.status == ExplanationStatus::Explained && !run.is_ordinary(explanation.spike)
    });
    let culprits = explained.filter_map(|explanation| Some(explanation.findings.first()?.culprit.clone())).collect();
    Some(VariantFigures { values, loads, culprits })
}

/// Compares the variants; `None` without any complete round or metric. `metrics` are those fixed beforehand, the primary
/// one first. Rounds beyond [`PAIRS_MAX`] are left out.
pub fn experiment(
    rounds: &[PairedRound],
    metrics: &[Metric],
    confidence: f64,
    stopping: Stopping,
) -> Option<ExperimentResult> {
    let rounds = &rounds[..rounds.len().min(PAIRS_MAX)];
    let risk = 1.0 - confidence;
    let (first, others) = metrics.split_first()?;
    let mut others: Vec<Metric> = others.iter().cloned().chain(load_metrics(rounds)).collect();
    others.retain(|metric| differences(rounds, metric).is_some());
    let part = if others.is_empty() { 1.0 } else { PRIMARY_PART };
    let other_part = (1.0 - part) / others.len().max(1) as f64;
    let row = |metric: &Metric, part: f64| compared(rounds, metric, confidence, part * risk, stopping);
    let mut rows = vec![(row(first, part)?, part)];
    rows.extend(others.iter().filter_map(|metric| Some((row(metric, other_part)?, other_part))));
    let adjusted = weighted_holm(&rows.iter().map(|(row, part)| (row.p_value, *part)).collect::<Vec<_>>());
    let mut rows: Vec<MetricResult> = rows.into_iter().map(|(row, _)| row).collect();
    for (row, p) in rows.iter_mut().zip(adjusted) {
        row.p_adjusted = p;
        row.differs = p <= risk;
        row.sentence = sentence(row, rounds.len(), confidence);
    }
    let enough = SignFlip::of(&vec![0.0; rounds.len()]).ok()?.interval(1.0 - part * risk);
    let (outcome, decisive) = match &enough {
        Err(_) => (Outcome::TooFewRounds, Vec::new()),
        Ok(_) => headline(&rows),
    };
    let sentence = match enough {
        Err(few) => format!(
            "No verdict: {} at most {} confidence; {} needs {}.",
            if rounds.len() == 1 { "1 round allows".to_owned() } else { format!("{} rounds allow", rounds.len()) },
            percent(few.confidence_max),
            percent(confidence),
            few.rounds_needed
        ),
        Ok(_) => decisive.iter().map(|row| row.sentence.as_str()).collect::<Vec<_>>().join(" "),
    };
    let mut rows = rows.into_iter();
    Some(ExperimentResult {
        rounds: rounds.len() as u32,
        confidence,
        stopping,
        outcome,
        evidence: evidence(&differences(rounds, first)?),
        primary: rows.next()?,
        secondary: rows.collect(),
        culprits: culprits(rounds, risk),
        sentence,
    })
}

/// The answer and the rows that give it, the one that decides first: the worst one that is shown to be worse, beside what the
/// primary one shows.
fn headline(rows: &[MetricResult]) -> (Outcome, Vec<&MetricResult>) {
    let harm = |row: &&MetricResult| row.harm().unwrap_or(0.0);
    let worst = rows.iter().filter(|row| row.harm().is_some()).max_by(|one, other| harm(one).total_cmp(&harm(other)));
    let first = rows.iter().find(|row| row.differs);
    match (worst, first) {
        (Some(worst), Some(first)) if std::ptr::eq(worst, first) => (Outcome::Worse, vec![worst]),
        (Some(worst), Some(first)) if first.harm().is_some() => (Outcome::Worse, vec![first, worst]),
        (Some(worst), first) => (Outcome::Worse, std::iter::once(worst).chain(first).collect()),
        (None, Some(better)) => (Outcome::Better, vec![better]),
        (None, None) => (Outcome::NoDifferenceFound, rows.iter().take(1).collect()),
    }
}

/// One difference for each round, b against a.
fn differences(rounds: &[PairedRound], metric: &Metric) -> Option<Vec<f64>> {
    let difference = |(a, b): (f64, f64)| match metric.scale {
        Scale::Ratio => (a > 0.0 && b > 0.0).then(|| (b / a).ln()),
        Scale::Count => Some(b.max(0.0).sqrt() - a.max(0.0).sqrt()),
    };
    pairs(rounds, metric)?.into_iter().map(difference).collect()
}

fn pairs(rounds: &[PairedRound], metric: &Metric) -> Option<Vec<(f64, f64)>> {
    rounds.iter().map(|round| Some((*round.a.values.get(&metric.name)?, *round.b.values.get(&metric.name)?))).collect()
}

fn compared(
    rounds: &[PairedRound],
    metric: &Metric,
    confidence: f64,
    level: f64,
    stopping: Stopping,
) -> Option<MetricResult> {
    let pairs = pairs(rounds, metric)?;
    let differences = differences(rounds, metric)?;
    let test = SignFlip::of(&differences).ok()?;
    let count = pairs.len() as f64;
    let mean = |side: &dyn Fn(&(f64, f64)) -> f64| match metric.scale {
        Scale::Ratio => (pairs.iter().map(|pair| side(pair).ln()).sum::<f64>() / count).exp(),
        Scale::Count => pairs.iter().map(side).sum::<f64>() / count,
    };
    let by_ratio = metric.scale == Scale::Ratio;
    let (p, interval) = match stopping {
        Stopping::FixedRounds => (test.p_value(), test.interval(confidence).ok()),
        Stopping::UntilDecided => (e_process::p_value(&differences), e_process::interval(&differences, confidence)),
    };
    let ratio = by_ratio.then(|| Estimate {
        value: test.mean().exp(),
        interval: interval.map(|interval| Interval { low: interval.low.exp(), high: interval.high.exp(), confidence }),
    });
    // What evidence after every round would have found depends on when it stops.
    let detectable = detectable(&differences, level).filter(|_| by_ratio && stopping == Stopping::FixedRounds);
    Some(MetricResult {
        metric: metric.clone(),
        a: mean(&|pair| pair.0),
        b: mean(&|pair| pair.1),
        ratio,
        p_value: p,
        p_adjusted: p,
        detectable: detectable.map(f64::exp),
        differs: false,
        sentence: String::new(),
    })
}

fn sentence(result: &MetricResult, rounds: usize, confidence: f64) -> String {
    let metric = &result.metric;
    let p = p_value(result.p_adjusted);
    let direction = if result.b > result.a { "raised" } else { "lowered" };
    let Some(ratio) = &result.ratio else {
        let (a, b) = (rough(result.a), rough(result.b));
        return if result.differs {
            format!("B {direction} {} from {a} to {b} {} ({rounds} rounds, {p}).", metric.name, metric.unit)
        } else {
            format!("No difference found in {}: {a} and {b} {} ({rounds} rounds, {p}).", metric.name, metric.unit)
        };
    };
    let amount = |value: f64| metric.unit.amount(value);
    let span = ratio.interval.map_or(String::new(), |interval| {
        format!(", {} interval {} to {}", percent(confidence), change(interval.low), change(interval.high))
    });
    if result.differs {
        return format!(
            "B {direction} {} by {} ({}, from {} to {}{span}; {rounds} rounds, {p}).",
            metric.name,
            amount((result.b - result.a).abs()),
            change(ratio.value),
            amount(result.a),
            amount(result.b)
        );
    }
    let seen = match result.detectable {
        Some(size) if metric.name != FigureName::Max => {
            format!(" A change of {:.1} % would have been found with 80 % probability.", (size - 1.0) * 100.0)
        }
        _ => String::new(),
    };
    format!("No difference found in {} ({}{span}; {rounds} rounds, {p}).{seen}", metric.name, change(ratio.value))
}

/// Causes by the runs they showed in, those that differ first.
fn culprits(rounds: &[PairedRound], risk: f64) -> Vec<CulpritResult> {
    let names: BTreeSet<&String> =
        rounds.iter().flat_map(|round| round.a.culprits.iter().chain(&round.b.culprits)).collect();
    let present = |figures: &VariantFigures, name: &str| u32::from(figures.culprits.contains(name));
    let mut found: Vec<CulpritResult> = names
        .into_iter()
        .filter_map(|name| {
            let (a, b): (Vec<u32>, Vec<u32>) =
                rounds.iter().map(|round| (present(&round.a, name), present(&round.b, name))).unzip();
            let differences: Vec<f64> = a.iter().zip(&b).map(|(a, b)| f64::from(*b) - f64::from(*a)).collect();
            let p_adjusted = SignFlip::of(&differences).ok()?.p_value();
            Some(CulpritResult {
                culprit: name.clone(),
                a: a.iter().sum(),
                b: b.iter().sum(),
                p_adjusted,
                differs: false,
            })
        })
        .collect();
    let adjusted = holm(&found.iter().map(|culprit| culprit.p_adjusted).collect::<Vec<_>>());
    for (culprit, p) in found.iter_mut().zip(adjusted) {
        (culprit.p_adjusted, culprit.differs) = (p, p <= risk);
    }
    found.sort_by(|one, other| one.p_adjusted.total_cmp(&other.p_adjusted));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::Coin;

    fn figures(p99_ns: f64, culprits: &[&str]) -> VariantFigures {
        let values = [
            (FigureName::P99, p99_ns),
            (FigureName::P50, 0.4 * p99_ns),
            (FigureName::Max, 9.0 * p99_ns),
            (FigureName::MissedPeriods, 3.0),
        ];
        VariantFigures {
            values: values.into(),
            loads: Vec::new(),
            culprits: culprits.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    /// Rounds in which B is so many times A, but for a scatter of 10 %.
    fn rounds(count: u32, factor: f64, seed: u64) -> Vec<PairedRound> {
        let mut coin = Coin::new(seed);
        let mut scatter = || 0.9 + 0.2 * coin.unit();
        let round = |_| PairedRound {
            a: figures(50_000.0 * scatter(), &["steal"]),
            b: figures(
                50_000.0 * factor * scatter(),
                if factor > 1.2 { &["steal", "fair-server"] } else { &["steal"] },
            ),
        };
        (0..count).map(round).collect()
    }

    fn result(count: u32, factor: f64) -> ExperimentResult {
        experiment(&rounds(count, factor, 8), &metrics(10_000.0), 0.95, Stopping::FixedRounds).unwrap()
    }

    #[test]
    fn the_highest_quantile_that_resolves_is_primary() {
        let primary = |samples: f64| metrics(samples)[0].name.clone();
        assert_eq!(
            [10.0, 5_000.0, 300_000.0, 5e6].map(|samples| primary(samples).to_string()),
            ["p50", "p99", "p99.9", "p99.999"]
        );
        let all = metrics(5_000.0);
        let names: Vec<String> = all.iter().map(|metric| metric.name.to_string()).collect();
        assert_eq!(names, ["p99", "p50", "max", "missed periods"]);
    }

    #[test]
    fn a_change_is_found_with_its_size_and_its_cause() {
        let result = result(12, 1.5);
        assert_eq!(result.outcome, Outcome::Worse);
        let ratio = result.primary.ratio.clone().unwrap();
        assert!(ratio.interval.unwrap().contains(1.5), "{ratio:?}");
        assert!(result.sentence.starts_with("B raised p99 by "), "{}", result.sentence);
        let new = &result.culprits[0];
        assert_eq!((new.culprit.as_str(), new.a, new.b, new.differs), ("fair-server", 0, 12, true));
        assert!((new.p_adjusted - 2.0 * 2.0 / 4096.0).abs() < 1e-12);
        assert!(!result.culprits[1].differs);
        assert!(result.evidence.iter().any(|evidence| *evidence >= 20.0), "{:?}", result.evidence);
        let missed = result.secondary.iter().find(|metric| metric.metric.name == FigureName::MissedPeriods).unwrap();
        assert_eq!((missed.p_value, missed.differs), (1.0, false));
    }

    #[test]
    fn no_difference_says_what_would_have_been_seen() {
        let result = result(12, 1.0);
        assert_eq!(result.outcome, Outcome::NoDifferenceFound, "{}", result.sentence);
        assert!(result.sentence.contains("would have been found with 80 % probability"), "{}", result.sentence);
        let detectable = result.primary.detectable.unwrap();
        assert!((1.02..1.15).contains(&detectable), "{detectable}");
    }

    #[test]
    fn what_loads_get_done_is_compared_where_all_runs_tell() {
        let mut some = rounds(10, 1.0, 3);
        for (at, round) in some.iter_mut().enumerate() {
            for (figures, rate) in [(&mut round.a, 1000.0), (&mut round.b, 900.0 + at as f64)] {
                let load = |name: &str, unit: &str| LoadRate { name: name.into(), unit: unit.into(), per_second: rate };
                figures.loads = vec![load("messaging", "messages"), load("command", "CPU ticks")];
                figures.values.extend(["messaging", "command"].map(|name| (FigureName::Load(name.into()), rate)));
            }
        }
        let secondary = |rounds: &[PairedRound]| {
            experiment(rounds, &metrics(10_000.0), 0.95, Stopping::FixedRounds).unwrap().secondary
        };
        let result = secondary(&some);
        let load = result.last().unwrap();
        assert_eq!((load.of_load(), load.differs), (Some("messaging"), true));
        assert!(
            load.sentence.starts_with("B lowered load messaging by 95.5 messages/s (-9.6 %, from 1 000 messages/s"),
            "{}",
            load.sentence
        );
        let mut mixed = some.clone();
        mixed[5].b.loads[0].unit = "bytes".into();
        assert!(secondary(&mixed).iter().all(|metric| metric.of_load().is_none()), "units must be alike");
        some[3].b.values.remove(&FigureName::Load("messaging".into()));
        assert!(secondary(&some).iter().all(|metric| metric.of_load().is_none()));
    }

    #[test]
    fn few_rounds_have_no_verdict() {
        let result = result(5, 1.5);
        assert_eq!(result.outcome, Outcome::TooFewRounds);
        assert_eq!(result.sentence, "No verdict: 5 rounds allow at most 93.75 % confidence; 95 % needs 6.");
        assert!(experiment(&[], &metrics(1e6), 0.95, Stopping::FixedRounds).is_none());
    }

    #[test]
    fn the_headline_is_the_worst_row_that_is_shown() {
        let mut some = rounds(12, 1.0, 5);
        for (at, round) in some.iter_mut().enumerate() {
            round.b.values.insert(FigureName::MissedPeriods, 50_000.0 + at as f64);
        }
        let missed = experiment(&some, &metrics(10_000.0), 0.95, Stopping::FixedRounds).unwrap();
        assert_eq!(missed.outcome, Outcome::Worse);
        assert!(missed.sentence.starts_with("B raised missed periods from 3 to 50 000 a run"), "{}", missed.sentence);
        for round in &mut some {
            round.b.values.insert(FigureName::MissedPeriods, 3.0);
            let ten_times = 10.0 * round.a.values[&FigureName::Max];
            round.b.values.insert(FigureName::Max, ten_times);
        }
        let max = experiment(&some, &metrics(10_000.0), 0.95, Stopping::FixedRounds).unwrap();
        assert!(max.outcome == Outcome::Worse && max.sentence.starts_with("B raised max by"), "{}", max.sentence);
        for round in &mut some {
            let better = 0.5 * round.a.values[&FigureName::P99];
            round.b.values.insert(FigureName::P99, better);
        }
        let both = experiment(&some, &metrics(10_000.0), 0.95, Stopping::FixedRounds).unwrap();
        assert_eq!(both.outcome, Outcome::Worse, "what is better does not hide what is worse");
    }

    #[test]
    fn until_decided_has_one_budget_for_all_looks() {
        // One sign short of unanimous: the fixed test rejects, the evidence of all looks does not.
        let differences = [1.0, 1.2, 0.9, -0.1, 1.1, 1.0, 1.3, 0.8];
        let round = |difference: &f64| PairedRound {
            a: figures(50_000.0, &[]),
            b: figures(50_000.0 * (0.1 * difference).exp(), &[]),
        };
        let some: Vec<PairedRound> = differences[..7].iter().map(round).collect();
        let primary = &metrics(10_000.0)[..1];
        let fixed = experiment(&some, primary, 0.95, Stopping::FixedRounds).unwrap();
        let looking = experiment(&some, primary, 0.95, Stopping::UntilDecided).unwrap();
        assert!(fixed.primary.p_value <= 0.05 && looking.primary.p_value > 0.05, "{fixed:?}");
        assert_eq!((fixed.outcome, looking.outcome), (Outcome::Worse, Outcome::NoDifferenceFound));
        assert_eq!(looking.primary.detectable, None);
    }

    /// Experiments on two variants that do the same may find a difference in one of twenty.
    #[test]
    fn false_alarms_stay_below_what_is_promised() {
        let series = 400;
        let found = (0..series)
            .filter(|seed| {
                let result =
                    experiment(&rounds(8, 1.0, 1000 + seed), &metrics(10_000.0), 0.95, Stopping::FixedRounds).unwrap();
                result.outcome != Outcome::NoDifferenceFound
            })
            .count();
        let most = 0.05 + 2.5 * (0.05f64 * 0.95 / series as f64).sqrt();
        assert!(found as f64 <= most * series as f64, "{found} of {series}");
    }
}
