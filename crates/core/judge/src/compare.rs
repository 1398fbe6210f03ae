//! Compares two runs: figures, causes of late wake-ups, and differences of machine and settings. One run each is no
//! basis for a verdict, so this module gives none.

use crate::caution::{Caution, RunName};
use crate::difference::{Difference, differences, reductions};
use crate::figures::{all_periods, load_rates, quantile_ns};
use archive::culprit::Culprit;
use archive::explanation::{Explanation, ExplanationStatus};
use archive::histogram::Histogram;
use archive::method::Method;
use archive::problem::Remark;
use archive::reader::Run;
use archive::summary::RunSummary;
use claims::difference_kind::DifferenceKind;
use claims::figure_name::FigureName;
use claims::unit::Unit;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A quantile is shown if at least this number of samples is expected above it.
const SAMPLES_ABOVE_MIN: f64 = 25.0;

/// One figure of both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedFigure {
    #[serde(with = "claims::figure_name::without_prefix")]
    pub name: FigureName,
    pub unit: Unit,
    pub a: Option<f64>,
    pub b: Option<f64>,
    /// b / a, if both exist and are positive.
    pub ratio: Option<f64>,
    /// Whether this is the work of a load.
    #[serde(default)]
    pub work: bool,
}

/// Spikes of one cause in both runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparedCulprit {
    pub culprit: Culprit,
    pub a: u64,
    pub b: u64,
}

/// Comparison of two runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// All CPUs of a run together.
    pub figures: Vec<ComparedFigure>,
    /// Explained spikes by cause, those in only one run first; empty if only one run kept spikes.
    pub culprits: Vec<ComparedCulprit>,
    /// Unexplained spikes of each run.
    pub unexplained: (u64, u64),
    pub differences: Vec<Difference>,
    /// Reasons against comparing these two runs.
    pub cautions: Vec<Remark>,
    pub sentence: String,
}

/// One side of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    pub run: &'a Run,
    pub summary: &'a RunSummary,
    pub explanations: &'a [Explanation],
}

/// Compares two runs.
pub fn compare(a: Side, b: Side) -> Comparison {
    let (causes_a, unexplained_a) = causes(a);
    let (causes_b, unexplained_b) = causes(b);
    let mut culprits: Vec<ComparedCulprit> = Vec::new();
    for name in causes_a.keys().chain(causes_b.keys().filter(|name| !causes_a.contains_key(*name))) {
        let count = |causes: &BTreeMap<Culprit, u64>| causes.get(name).copied().unwrap_or(0);
        culprits.push(ComparedCulprit { culprit: name.clone(), a: count(&causes_a), b: count(&causes_b) });
    }
    culprits.sort_by_key(|entry| (entry.a > 0 && entry.b > 0, std::cmp::Reverse(entry.a.max(entry.b))));
    let differences = differences(a.summary, b.summary);
    let mut cautions = cautions(a.summary, b.summary, &differences);
    if differences.iter().any(|difference| difference.what == DifferenceKind::Load) {
        cautions.push(Caution::Work);
    }
    let kept = |side: Side| !side.run.spikes.is_empty();
    if kept(a) != kept(b) {
        // A run without traces has no causes; that is not a lost cause.
        cautions.push(Caution::NoSpikes(if kept(a) { RunName::B } else { RunName::A }));
        culprits.clear();
    }
    Comparison {
        figures: figures(a, b),
        culprits,
        unexplained: (unexplained_a, unexplained_b),
        cautions: cautions.iter().map(Remark::new).collect(),
        differences,
        sentence: words::claims::comparison::NO_VERDICT.into(),
    }
}

/// Largest share of a figure that rounding by its source may make up, for a ratio to be shown.
const ROUNDING_MAX: f64 = 0.1;

/// Latencies of an import are multiples of this; 1 without rounding.
fn step_ns(summary: &RunSummary) -> f64 {
    summary.imported.as_ref().map_or(1, |imported| imported.resolution_ns.max(1)) as f64
}

/// Whether both figures are known well enough for their ratio.
fn is_resolved(figure: &ComparedFigure, step_ns: f64) -> bool {
    let is_exact = step_ns <= 1.0 || figure.unit != Unit::Nanoseconds;
    is_exact || [figure.a, figure.b].into_iter().flatten().all(|ns| step_ns <= ROUNDING_MAX * ns)
}

/// A quantile with enough samples above it; of an import, a multiple of what its source rounds to, and `None` among the
/// values that its source did not keep.
fn quantile(side: Side, known: &Histogram, q: f64) -> Option<f64> {
    let samples: u64 = side.summary.deciding().map(|cpu| cpu.cycles).fold(0, u64::saturating_add);
    let lost = if side.summary.imported.is_some() { samples.saturating_sub(known.total()) } else { 0 };
    let total = known.total() as f64 + lost as f64;
    if total * (1.0 - q) < SAMPLES_ABOVE_MIN {
        return None;
    }
    let ns = quantile_ns(known, q * total / known.total() as f64)?;
    let step_ns = step_ns(side.summary);
    Some(if step_ns > 1.0 { (ns / step_ns).floor() * step_ns } else { ns })
}

fn figures(a: Side, b: Side) -> Vec<ComparedFigure> {
    let (all_a, all_b) = (all_periods(a.run), all_periods(b.run));
    let mut figures: Vec<ComparedFigure> = FigureName::QUANTILES
        .into_iter()
        .map(|(name, q)| compared(name, Unit::Nanoseconds, quantile(a, &all_a, q), quantile(b, &all_b, q)))
        .filter(|figure| figure.a.is_some() || figure.b.is_some())
        .collect();
    let max = |side: Side| side.summary.all_cpus.max.map(|ns| ns as f64);
    figures.push(compared(FigureName::Max, Unit::Nanoseconds, max(a), max(b)));
    figures.push(compared(
        FigureName::MissedPeriods,
        Unit::PerHour,
        missed_per_hour(a.summary),
        missed_per_hour(b.summary),
    ));
    if methods_differ(a.summary, b.summary).is_some() {
        figures.iter_mut().for_each(|figure| figure.ratio = None);
    }
    let step_ns = step_ns(a.summary).max(step_ns(b.summary));
    figures.iter_mut().filter(|figure| !is_resolved(figure, step_ns)).for_each(|figure| figure.ratio = None);
    let (loads_a, loads_b) = (load_rates(a.run), load_rates(b.run));
    for load in &loads_a {
        if let Some(other) = loads_b.iter().find(|other| other.name == load.name && other.unit == load.unit) {
            let name = FigureName::Load(load.name.clone());
            let figure = compared(name, Unit::work(&load.unit), Some(load.per_second), Some(other.per_second));
            figures.push(ComparedFigure { work: true, ..figure });
        }
    }
    figures
}

fn compared(name: FigureName, unit: Unit, a: Option<f64>, b: Option<f64>) -> ComparedFigure {
    let ratio = a.zip(b).filter(|(a, b)| *a > 0.0 && *b > 0.0).map(|(a, b)| b / a);
    ComparedFigure { name, unit, a, b, ratio, work: false }
}

fn missed_per_hour(summary: &RunSummary) -> Option<f64> {
    let missed =
        summary.cpus.iter().map(|cpu| cpu.missed).try_fold(0u64, |sum, missed| Some(sum.saturating_add(missed?)))?;
    let hours = summary.measured_ns.filter(|ns| *ns > 0)? as f64 / 3.6e12;
    Some(missed as f64 / hours)
}

/// Spikes by the cause that explains most of each, and the number of unexplained ones.
fn causes(side: Side) -> (BTreeMap<Culprit, u64>, u64) {
    let mut causes = BTreeMap::new();
    let mut unexplained = 0;
    for explanation in side.explanations.iter().filter(|explanation| !side.run.is_ordinary(explanation.spike)) {
        match (explanation.status, explanation.findings.first()) {
            (ExplanationStatus::Explained, Some(finding)) => {
                *causes.entry(finding.culprit.clone()).or_default() += 1;
            }
            _ => unexplained += 1,
        }
    }
    (causes, unexplained)
}

/// The methods of two runs, where they are not the same: no latency of the one compares with one of the other.
fn methods_differ<'a>(a: &'a RunSummary, b: &'a RunSummary) -> Option<(&'a str, &'a str)> {
    fn method(summary: &RunSummary) -> &str {
        summary.settings.as_ref().map_or(Method::Timer.name(), |settings| settings.method.name())
    }
    Some((method(a), method(b))).filter(|(a, b)| a != b)
}

pub(crate) fn cautions(a: &RunSummary, b: &RunSummary, differences: &[Difference]) -> Vec<Caution> {
    let mut cautions = Vec::new();
    for (run, summary) in [(RunName::A, a), (RunName::B, b)] {
        if !summary.valid {
            cautions.push(Caution::InvalidRun { run, reasons: Remark::joined(&summary.invalid_because) });
        }
        let reduced = reductions(summary);
        if !reduced.is_empty() {
            cautions.push(Caution::Reduced { run, reasons: reduced.join("; ") });
        }
        if summary.virtual_time {
            cautions.push(Caution::VirtualTime(run));
        } else if summary.emulated {
            cautions.push(Caution::Emulated(run));
        }
        if summary.imported.is_some() {
            cautions.push(Caution::Imported(run));
        }
    }
    if let Some((a, b)) = methods_differ(a, b) {
        cautions.push(Caution::Methods { a: a.into(), b: b.into() });
    }
    if let Some(recorded) = differences.iter().find(|difference| difference.what == DifferenceKind::Recording) {
        cautions.push(Caution::Recording { a: recorded.a.clone(), b: recorded.b.clone() });
    }
    cautions.extend(longer_with_larger_maximum(a, b).map(|longer| Caution::Length { longer }));
    cautions
}

/// The run that is at least twice as long as the other, if its maximum is larger.
fn longer_with_larger_maximum(a: &RunSummary, b: &RunSummary) -> Option<RunName> {
    let lengths = a.measured_ns.zip(b.measured_ns).filter(|(a, b)| *a > 0 && *b > 0);
    let ((a_ns, b_ns), (a_max, b_max)) = lengths.zip(a.all_cpus.max.zip(b.all_cpus.max))?;
    match () {
        () if a_ns / b_ns >= 2 && a_max > b_max => Some(RunName::A),
        () if b_ns / a_ns >= 2 && b_max > a_max => Some(RunName::B),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::environment::Environment;
    use archive::histogram::bucket_of;
    use archive::reader::ThreadRun;
    use archive::sample::Totals;
    use archive::settings::RunSettings;
    use fixtures::assert_sentence;

    fn run(latency_ns: i64, samples: u64) -> Run {
        let histogram = Histogram { buckets: vec![(bucket_of(latency_ns).unwrap() as u32, samples)] };
        let totals = Totals { cycles: samples, latency_ns_max: Some(latency_ns), ..Totals::default() };
        Run {
            threads: BTreeMap::from([(0, ThreadRun { totals, histogram, ..ThreadRun::default() })]),
            environment: Some(Environment { kernel_release: format!("6.1.{latency_ns}"), ..Environment::default() }),
            ..Run::default()
        }
    }

    fn explained(spike: u32, culprit: Option<&str>) -> Explanation {
        let finding = |culprit: &str| {
            serde_json::json!({ "culprit": culprit, "sentence": "", "confidence": "certain", "ns": 1, "evidence": [],
                "confirm": "", "fix": "" })
        };
        let status = if culprit.is_some() { "explained" } else { "not_explained" };
        let findings: Vec<serde_json::Value> = culprit.into_iter().map(finding).collect();
        let document = serde_json::json!({ "spike": spike, "latency_ns": 1, "median_ns": 1, "status": status, "phases": [],
            "findings": findings, "spans": [], "lanes": [], "caveats": [] });
        serde_json::from_value(document).unwrap()
    }

    fn compared_runs(a: (&Run, &[Explanation]), b: (&Run, &[Explanation])) -> Comparison {
        let (summary_a, summary_b) = (RunSummary::of(a.0, &[]), RunSummary::of(b.0, &[]));
        compare(
            Side { run: a.0, summary: &summary_a, explanations: a.1 },
            Side { run: b.0, summary: &summary_b, explanations: b.1 },
        )
    }

    #[test]
    fn figures_stand_side_by_side_as_far_as_the_samples_reach() {
        let comparison = compared_runs((&run(400, 10_000), &[]), (&run(600, 1_000_000), &[]));
        let figure = |name: &str| comparison.figures.iter().find(|figure| figure.name.without_prefix() == name);
        assert_eq!(figure("p50").unwrap().ratio, Some(1.5));
        assert_eq!(figure("p99.9").unwrap().a, None, "ten samples above are too few");
        assert_eq!((figure("p99.99").unwrap().b, figure("p99.99").unwrap().ratio), (Some(600.0), None));
        assert_eq!(figure("p99.999"), None);
        assert_eq!(figure("max").unwrap().ratio, Some(1.5));
        assert_sentence!("compared-once", comparison.sentence);
    }

    #[test]
    fn latencies_of_two_methods_have_no_ratio_and_a_caution() {
        let (a, b) = (run(400, 10_000), run(600, 10_000));
        let settings = |method: Method| RunSettings { method: method.into(), ..RunSettings::default() };
        let summary = |run: &Run, method| RunSummary { settings: Some(settings(method)), ..RunSummary::of(run, &[]) };
        let compared = |method| {
            let (summary_a, summary_b) = (summary(&a, Method::Timer), summary(&b, method));
            compare(
                Side { run: &a, summary: &summary_a, explanations: &[] },
                Side { run: &b, summary: &summary_b, explanations: &[] },
            )
        };
        let unlike = compared(Method::Semaphore);
        assert!(unlike.figures.iter().all(|figure| figure.ratio.is_none()), "{:?}", unlike.figures);
        assert!(unlike.cautions.iter().any(|caution| caution.text.contains("semaphore")), "{:?}", unlike.cautions);
        assert!(compared(Method::Timer).figures.iter().any(|figure| figure.ratio.is_some()));
    }

    #[test]
    fn culprits_gained_and_lost_come_first() {
        let a = [
            explained(1, Some("steal")),
            explained(2, Some("steal")),
            explained(3, Some("idle-exit")),
            explained(4, None),
        ];
        let b = [explained(1, Some("steal")), explained(2, Some("fair-server"))];
        let comparison = compared_runs((&run(1, 100), &a), (&run(1, 100), &b));
        let culprits: Vec<(&str, u64, u64)> =
            comparison.culprits.iter().map(|entry| (entry.culprit.id(), entry.a, entry.b)).collect();
        assert_eq!(culprits, [("idle-exit", 1, 0), ("fair-server", 0, 1), ("steal", 2, 1)]);
        assert_eq!(comparison.unexplained, (1, 0));
    }

    #[test]
    fn a_run_without_spikes_has_lost_no_causes() {
        let mut traced = run(1, 100);
        traced.spikes.push(archive::spike::Spike::new(
            1,
            0,
            1,
            archive::sample::Sample { cpu: 0, cycle: 1, due_ns: 0, latency_ns: 1 },
            archive::spike::SpikeReason::NewMaximum,
        ));
        let comparison = compared_runs((&traced, &[explained(1, Some("steal"))]), (&run(1, 100), &[]));
        assert!(comparison.culprits.is_empty());
        assert!(comparison.cautions.contains(&Remark::new(&Caution::NoSpikes(RunName::B))));
    }

    #[test]
    fn differences_beside_the_change_are_cautions() {
        let (mut a, b) = (run(1, 100), run(2, 100));
        a.threads.clear();
        let comparison = compared_runs((&a, &[]), (&b, &[]));
        assert_eq!(comparison.cautions[0].code, "judge.invalid-run");
        let kernel =
            comparison.differences.iter().find(|difference| difference.what == DifferenceKind::Kernel).unwrap();
        assert_eq!((kernel.a.as_deref(), kernel.b.as_deref()), (Some("6.1.1"), Some("6.1.2")));
    }
}
