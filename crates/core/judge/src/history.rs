//! Change points of a series of runs: where a figure changed its level, found by E-divisive splits (Matteson and James
//! 2014) with a permutation test. A detected change is not proof: confirm it by an experiment.
//!
//! Maxima are not analysed: their scatter hides any change, and a detector would report chance.

mod drift;
mod scenario;
mod split;

use crate::difference::differences;
use crate::experiment::{Metric, Scale, metrics, variant_figures};
use archive::reader::Run;
use archive::summary::RunSummary;
use claims::figure_name::FigureName;
use claims::history::RATIO_MIN;
pub use claims::history::{ChangePoint, Point, Series};
use claims::unit::Unit;
use drift::{Drift, drifts};
use split::{Residuals, least_p};
use std::collections::BTreeMap;

pub use scenario::scenario;
pub use split::{RUNS_A_SIDE, change_points, detectable_step};

/// Probability of a false change in one series. Many series share 5 %.
const RISK: f64 = 0.001;
const RISK_OF_ALL: f64 = 0.05;
/// Of longer series only the last runs are analysed: older changes are known.
pub const RUNS_MAX: usize = 300;

/// One run in a history.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryRun {
    /// Path of its archive.
    pub archive: String,
    pub summary: RunSummary,
    pub values: BTreeMap<FigureName, f64>,
    pub samples: f64,
}

/// The figures of a run that a history compares.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryFigures {
    pub values: BTreeMap<FigureName, f64>,
    pub samples: f64,
}

impl HistoryFigures {
    /// `None` if the run is invalid or has no samples.
    pub fn of(run: &Run, summary: &RunSummary) -> Option<Self> {
        let mut values = summary.valid.then(|| variant_figures(run, &[])).flatten()?.values;
        let samples = run.threads.values().fold(0u64, |sum, thread| sum.saturating_add(thread.totals.cycles)) as f64;
        let hours = summary.measured_ns.filter(|ns| *ns > 0).map(|ns| ns as f64 / 3.6e12);
        if let (Some(hours), Some(_)) = (hours, summary.settings.as_ref().and_then(|settings| settings.limit_ns)) {
            let deciding = run.threads.values().filter(|thread| run.decides(thread.thread));
            let over = deciding.fold(0u64, |sum, thread| sum.saturating_add(thread.totals.over_limit));
            values.insert(FigureName::OverLimit, over as f64 / hours);
        }
        if let (Some(hours), Some(missed)) = (hours, values.get(&FigureName::MissedPeriods).copied()) {
            values.insert(FigureName::MissedPeriods, missed / hours);
        }
        Some(Self { values, samples })
    }
}

impl HistoryRun {
    /// `None` if the run is invalid or has no samples.
    pub fn of(run: &Run, summary: RunSummary) -> Option<Self> {
        let HistoryFigures { values, samples } = HistoryFigures::of(run, &summary)?;
        Some(Self { archive: summary.archive.clone(), summary, values, samples })
    }
}

/// The series of these runs, each with its changes. `seed` determines the permutations.
pub fn history(runs: &[HistoryRun], seed: u64) -> Vec<Series> {
    let mut groups: BTreeMap<String, Vec<&HistoryRun>> = BTreeMap::new();
    for run in runs {
        groups.entry(scenario(&run.summary)).or_default().push(run);
    }
    let mut wanted: Vec<(String, Metric, Vec<&HistoryRun>)> = Vec::new();
    for (scenario, mut group) in groups {
        group.sort_by_key(|run| run.summary.started_unix_ns);
        let group = group.split_off(group.len().saturating_sub(RUNS_MAX));
        wanted.extend(figures(&group).into_iter().map(|metric| (scenario.clone(), metric, group.clone())));
    }
    let risk = RISK.min(RISK_OF_ALL / wanted.len().max(1) as f64);
    wanted.into_iter().map(|(scenario, metric, group)| series(scenario, metric, &group, risk, seed)).collect()
}

/// The highest quantile that resolves in every run, the median, and rates.
fn figures(group: &[&HistoryRun]) -> Vec<Metric> {
    let fewest = group.iter().map(|run| run.samples).fold(f64::INFINITY, f64::min);
    let quantiles: Vec<Metric> = metrics(fewest).into_iter().filter(|metric| metric.name.is_quantile()).collect();
    let mut figures: Vec<Metric> = quantiles.first().into_iter().cloned().collect();
    figures.extend(quantiles.into_iter().skip(1).filter(|metric| metric.name == FigureName::P50));
    let limit = |run: &&HistoryRun| run.summary.settings.as_ref().and_then(|settings| settings.limit_ns);
    let one_limit = group.windows(2).all(|pair| limit(&pair[0]) == limit(&pair[1]));
    let rate = |name: FigureName| Metric { name, unit: Unit::AnHour, scale: Scale::Count };
    figures.extend([FigureName::OverLimit, FigureName::MissedPeriods].map(rate));
    figures.retain(|metric| {
        let has_it = |run: &&HistoryRun| run.values.get(&metric.name).is_some_and(|value| value.is_finite());
        let seen = |run: &&HistoryRun| run.values.get(&metric.name).is_some_and(|value| *value > 0.0);
        group.iter().all(has_it)
            && (metric.scale == Scale::Ratio || group.iter().any(seen))
            && (metric.name != FigureName::OverLimit || one_limit)
    });
    figures
}

fn series(scenario: String, metric: Metric, group: &[&HistoryRun], risk: f64, seed: u64) -> Series {
    let value = |run: &&HistoryRun| run.values.get(&metric.name).copied().unwrap_or(0.0);
    let points: Vec<Point> = group
        .iter()
        .map(|run| Point {
            archive: run.archive.clone(),
            id: run.summary.id.clone(),
            started_unix_ns: run.summary.started_unix_ns,
            value: value(run),
        })
        .collect();
    let scaled: Vec<f64> = group
        .iter()
        .map(|run| if metric.scale == Scale::Ratio { value(run).max(1.0).ln() } else { value(run).max(0.0).sqrt() })
        .collect();
    let found = change_points(&scaled, risk, seed);
    let mut ends = vec![0];
    ends.extend(found.iter().map(|(at, _)| *at));
    ends.push(points.len());
    let level = |part: &[Point]| {
        let count = part.len() as f64;
        match metric.scale {
            Scale::Ratio => (part.iter().map(|point| point.value.max(1.0).ln()).sum::<f64>() / count).exp(),
            Scale::Count => part.iter().map(|point| point.value).sum::<f64>() / count,
        }
    };
    let residuals = Residuals::of(&scaled, &found.iter().map(|(at, _)| *at).collect::<Vec<_>>());
    let autocorrelation = residuals.autocorrelation();
    let changes: Vec<ChangePoint> = found
        .iter()
        .enumerate()
        .map(|(number, (at, p))| {
            let (before, after) = (level(&points[ends[number]..*at]), level(&points[*at..ends[number + 2]]));
            let ratio = (before > 0.0 && after > 0.0).then_some(after / before);
            let mut change_point = ChangePoint {
                at: *at,
                drift_until: None,
                before,
                after,
                ratio,
                p_value: *p,
                differences: differences(&group[at - 1].summary, &group[*at].summary),
                sentence: String::new(),
            };
            change_point.sentence =
                words::claims::history::change_point(&change_point, &metric, &points, autocorrelation);
            change_point
        })
        .collect();
    let changes = with_drifts(changes, &scaled, |drift: &Drift, replaced| {
        let value = |scaled: f64| if metric.scale == Scale::Ratio { scaled.exp() } else { scaled.max(0.0).powi(2) };
        let (before, after) = (value(drift.before), value(drift.after));
        let mut change_point = ChangePoint {
            at: drift.from + 1,
            drift_until: Some(drift.until),
            before,
            after,
            ratio: (before > 0.0 && after > 0.0).then_some(after / before),
            p_value: replaced.iter().map(|change| change.p_value).fold(0.0, f64::max),
            differences: differences(&group[drift.from].summary, &group[drift.until].summary),
            sentence: String::new(),
        };
        change_point.sentence = words::claims::history::change_point(&change_point, &metric, &points, autocorrelation);
        change_point
    });
    let is_large =
        |found: &ChangePoint| found.ratio.is_none_or(|ratio| !(RATIO_MIN.recip()..RATIO_MIN).contains(&ratio));
    let changes: Vec<ChangePoint> = changes.into_iter().filter(is_large).collect();
    let too_few = least_p(points.len()) > risk;
    let detectable = residuals.detectable().filter(|_| autocorrelation.is_none() && !too_few);
    let detectable = detectable.and_then(|size| match metric.scale {
        Scale::Ratio => Some(size.exp()),
        Scale::Count => {
            let root = scaled.iter().sum::<f64>() / scaled.len() as f64;
            (root > 0.0).then(|| ((root + size) / root).powi(2))
        }
    });
    let needed = (2 * RUNS_A_SIDE..RUNS_MAX).find(|count| least_p(*count) <= risk).unwrap_or(RUNS_MAX);
    let sentence = String::new();
    let mut series = Series { scenario, metric, too_few, points, changes, detectable, autocorrelation, sentence };
    series.sentence = words::claims::history::series(&series, needed);
    series
}

/// The changes with those that are one drift replaced by it.
fn with_drifts(
    changes: Vec<ChangePoint>,
    scaled: &[f64],
    one: impl Fn(&Drift, &[ChangePoint]) -> ChangePoint,
) -> Vec<ChangePoint> {
    let places: Vec<usize> = changes.iter().map(|change| change.at).collect();
    let mut left = changes;
    for drift in drifts(scaled, &places).into_iter().rev() {
        let replacement = one(&drift, &left[drift.changes.clone()]);
        left.splice(drift.changes, [replacement]);
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::Coin;
    use crate::stationarity::NILE;
    use archive::environment::Environment;
    use archive::manifest::ImportedFrom;
    use archive::settings::RunSettings;
    use fixtures::assert_sentence;

    #[test]
    fn the_nile_changed_once() {
        let found = change_points(&NILE, 0.002, 7);
        assert_eq!(found.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [28]);
        assert!(found[0].1 <= 1.0 / 499.0, "{found:?}");
        let (before, after) = NILE.split_at(28);
        assert_eq!(before.iter().sum::<f64>() / 28.0, 1097.75);
        assert!((after.iter().sum::<f64>() / 72.0 - 849.972222).abs() < 1e-6);
    }

    #[test]
    fn scatter_is_no_change_and_steps_are() {
        let mut coin = Coin::new(3);
        let mut noise = |count: usize, level: f64| (0..count).map(|_| level + coin.unit()).collect::<Vec<f64>>();
        let false_alarms = (0..60).filter(|seed| !change_points(&noise(30, 0.0), 0.05, *seed).is_empty()).count();
        assert!(false_alarms <= 8, "{false_alarms} of 60");
        let steps = [noise(12, 0.0), noise(10, 3.0), noise(12, 1.5)].concat();
        let found: Vec<usize> = change_points(&steps, 0.001, 1).into_iter().map(|(at, _)| at).collect();
        assert_eq!(found, [12, 22]);
        assert!(change_points(&[], 0.001, 1).is_empty() && change_points(&[1.0; 40], 0.001, 1).is_empty());
        assert!(change_points(&[f64::NAN; 40], 0.001, 1).is_empty());
    }

    fn run(number: i64, p99_ns: f64, release: &str) -> HistoryRun {
        let mut summary = RunSummary::of(&Run::default(), &[]);
        summary.environment =
            Some(Environment { hostname: "board".into(), kernel_release: release.into(), ..Environment::default() });
        summary.settings = Some(RunSettings::default());
        summary.started_unix_ns = Some(number);
        summary.id = format!("run-{number}");
        let scatter = 1.0 + (number * 7 % 5) as f64 / 100.0;
        let values = [
            (FigureName::P99, p99_ns * scatter),
            (FigureName::P50, 1000.0),
            (FigureName::Max, 1e9 / number as f64),
            (FigureName::MissedPeriods, 0.0),
        ];
        HistoryRun { archive: summary.id.clone(), summary, values: values.into(), samples: 6000.0 }
    }

    #[test]
    fn a_change_names_the_runs_around_it_and_what_else_differs() {
        let mut runs: Vec<HistoryRun> = (1..=20)
            .map(|number| if number < 11 { run(number, 5e4, "6.1.1") } else { run(number, 8e4, "6.1.2") })
            .collect();
        runs.reverse();
        let all = history(&runs, 4);
        let names: Vec<&FigureName> = all.iter().map(|series| &series.metric.name).collect();
        assert_eq!(names, [&FigureName::P99, &FigureName::P50], "never maxima, and no rate of what never came");
        let change = &all[0].changes[0];
        assert_eq!((change.at, all[0].changes.len(), all[1].changes.len()), (10, 1, 0));
        assert_eq!(change.differences[0].b.as_deref(), Some("6.1.2"));
        assert!(
            change
                .sentence
                .starts_with("p99 went from 51.0 µs to 81.6 µs (+60.0 %) between run-10 and run-11, p = 0.00"),
            "{}",
            change.sentence
        );
        assert_eq!(all[0].scenario, "board, every 1.00 ms, FIFO 80, no load");
        assert_eq!(all[0].sentence, "one change in 20 runs");
        let few = history(&runs[..9], 4);
        assert_sentence!("history-too-few-runs", few[0].sentence);
        assert!(history(&[], 4).is_empty());
    }

    #[test]
    fn no_change_says_what_would_have_been_found() {
        let mut coin = Coin::new(8);
        let runs: Vec<HistoryRun> =
            (1..=30).map(|number| run(number, 5e4 * (1.0 + 0.2 * coin.unit()), "6.1")).collect();
        let quiet = &history(&runs, 4)[0];
        let ratio = quiet.detectable.unwrap();
        assert!((1.05..1.2).contains(&ratio), "{ratio}");
        let expected =
            format!("no change found in 30 runs; a change of {} in mid-series would", words::amounts::change(ratio));
        assert!(quiet.sentence.starts_with(&expected), "{}", quiet.sentence);
    }

    #[test]
    fn runs_that_resemble_their_neighbours_are_named_as_such() {
        let mut coin = Coin::new(6);
        let mut level = 0.0;
        let runs: Vec<HistoryRun> = (1..=60)
            .map(|number| {
                level = 0.7 * level + coin.unit() - 0.5;
                run(number, 5e4 * (0.2f64 * level).exp(), "6.1")
            })
            .collect();
        let drifting = &history(&runs, 4)[0];
        assert!(drifting.changes.is_empty() && drifting.detectable.is_none(), "{:?}", drifting.changes);
        assert_sentence!("history-drifting", drifting.sentence);
    }

    #[test]
    fn runs_of_other_tools_are_a_series_of_their_own() {
        let imported = |number: i64, tool: &str, command: &[&str]| {
            let mut run = run(number, 5e4, "6.1");
            run.summary.settings = None;
            run.summary.imported = Some(ImportedFrom { tool: tool.into(), ..ImportedFrom::default() });
            run.summary.command = command.iter().map(|word| (*word).to_owned()).collect();
            run
        };
        let scenarios = |runs: &[HistoryRun]| -> Vec<String> {
            let mut all: Vec<String> = history(runs, 4).into_iter().map(|series| series.scenario).collect();
            all.dedup();
            all
        };
        let fast = ["cyclictest", "-i", "200", "-p", "90", "-D", "1h"];
        let longer = ["cyclictest", "-i", "200", "-p", "90", "--duration=2h", "-q"];
        let slow = ["cyclictest", "-i", "1000", "-p", "90", "-D", "1h"];
        let alike = scenarios(&[imported(1, "cyclictest", &fast), imported(2, "cyclictest", &longer)]);
        assert!(alike.len() == 1 && alike[0].ends_with("cyclictest -i 200 -p 90"), "{alike:?}");
        assert_eq!(scenarios(&[imported(1, "cyclictest", &fast), imported(2, "cyclictest", &slow)]).len(), 2);
        assert_eq!(scenarios(&[imported(1, "rtla", &[]), imported(2, "jitterdebugger", &[])]).len(), 2);
    }

    #[test]
    fn machines_and_loads_are_series_of_their_own() {
        let mut other = run(1, 5e4, "6.1");
        other.summary.environment.as_mut().unwrap().hostname = "other".into();
        let mut busy = run(2, 5e4, "6.1");
        busy.summary.settings.as_mut().unwrap().priority = 90;
        assert_eq!(history(&[run(3, 5e4, "6.1"), other, busy], 4).len(), 6);
    }
}
