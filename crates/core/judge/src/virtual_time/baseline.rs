//! Expected results of a system in virtual time, and drift from them.

mod empty_if_unexplained;

use super::SeedRun;
use super::asked;
use super::causes;
use super::figures::SeedFigures;
use archive::culprit::Culprit;
use archive::settings::RunSettings;
use claims::baseline::{Deviation, Guest, Tolerance};
use claims::figure_name::FigureName;
use claims::virtual_time::Cause;
pub use claims::virtual_time::{Drift, DriftKind, Moved};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

/// Version of the stored format.
pub const BASELINE_VERSION: u32 = 1;

/// Expected results, stored beside a kernel's sources.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    pub baseline_version: u32,
    /// Always true: these figures count instructions, not hardware time.
    pub virtual_time: bool,
    /// Release of the kernel that was measured.
    pub kernel: String,
    pub target: String,
    /// Tolerated change of a figure with load, in percent.
    pub tolerance_percent: f64,
    /// Tolerated change of the idle median, in ns.
    pub idle_tolerance_ns: i64,
    /// Options of `tardy run` for all seeds, one word each.
    pub options: Vec<String>,
    /// The build inputs of the machine.
    #[serde(default)]
    pub ingredients: BTreeMap<String, String>,
    /// Without any load.
    #[serde(default)]
    pub idle: Vec<SeedFigures>,
    /// With the loads of the options.
    #[serde(default)]
    pub loaded: Vec<SeedFigures>,
    #[serde(default)]
    pub causes: Vec<BaselineCause>,
}

/// A cause of late wake-ups, over all seeds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaselineCause {
    /// Stored as empty if nothing explains it.
    #[serde(with = "empty_if_unexplained")]
    pub culprit: Option<Culprit>,
    /// Function; empty if unknown.
    pub function: String,
    pub longest_ns: i64,
    /// Number of seeds in which it occurred.
    pub seeds: usize,
}

impl BaselineCause {
    /// The culprit as the file of a baseline names it.
    pub fn stored_culprit(&self) -> &str {
        self.culprit.as_ref().map_or("", Culprit::id)
    }
}

/// Why a stored baseline cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BaselineError {
    #[error("baseline_version {0} is newer than this program; write it again with `tardy virtual baseline write`")]
    Newer(u32),
    #[error("virtual_time is not true: baselines exist for machines in virtual time only")]
    NotVirtualTime,
    #[error("tolerance_percent must be from 0 to 1000")]
    Tolerance,
    #[error("idle_tolerance_ns must be 0 or more")]
    IdleTolerance,
    #[error("it has no seed, idle or loaded")]
    NoSeed,
    #[error("seed {0} appears twice")]
    SeedTwice(u64),
}

impl Baseline {
    /// The baseline of these runs of one system with `options`.
    pub fn of(
        runs: &[SeedRun],
        target: &str,
        options: &[String],
        tolerance_percent: f64,
        idle_tolerance_ns: i64,
    ) -> Self {
        let first = runs.first().map(|run| run.summary);
        let seeds = |idle: bool| {
            let mut seeds: Vec<SeedFigures> = runs
                .iter()
                .filter(|run| run.is_idle() == idle)
                .filter_map(|run| SeedFigures::of(run.seed(), run.samples))
                .collect();
            seeds.sort_by_key(|seed| seed.seed);
            seeds
        };
        let kernel = first.and_then(|summary| summary.environment.as_ref()).map(|e| e.kernel_release.clone());
        Self {
            baseline_version: BASELINE_VERSION,
            virtual_time: true,
            kernel: kernel.unwrap_or_default(),
            target: target.into(),
            tolerance_percent,
            idle_tolerance_ns,
            options: options.to_vec(),
            ingredients: first.map(|summary| summary.ingredients.clone()).unwrap_or_default(),
            idle: seeds(true),
            loaded: seeds(false),
            causes: causes_of(runs),
        }
    }

    /// Whether the values are consistent.
    ///
    /// # Errors
    /// [`BaselineError`] for the first value that is not.
    pub fn check(&self) -> Result<(), BaselineError> {
        if self.baseline_version > BASELINE_VERSION {
            return Err(BaselineError::Newer(self.baseline_version));
        }
        if !self.virtual_time {
            return Err(BaselineError::NotVirtualTime);
        }
        if !(self.tolerance_percent.is_finite() && (0.0..=1000.0).contains(&self.tolerance_percent)) {
            return Err(BaselineError::Tolerance);
        }
        if self.idle_tolerance_ns < 0 {
            return Err(BaselineError::IdleTolerance);
        }
        if self.idle.is_empty() && self.loaded.is_empty() {
            return Err(BaselineError::NoSeed);
        }
        for seeds in [&self.idle, &self.loaded] {
            let mut numbers: Vec<u64> = seeds.iter().map(|seed| seed.seed).collect();
            numbers.sort_unstable();
            if let Some(pair) = numbers.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(BaselineError::SeedTwice(pair[0]));
            }
        }
        Ok(())
    }
}

/// Deviation of runs from a baseline. `asked` are the settings that the baseline's options request.
pub fn drift(baseline: &Baseline, asked: &RunSettings, runs: &[SeedRun]) -> Drift {
    let now = Baseline::of(runs, &baseline.target, &baseline.options, 0.0, 0);
    let mut found = asked::otherwise(asked, runs);
    for (guest, expected, seen) in
        [(Guest::Idle, &baseline.idle, &now.idle), (Guest::Loaded, &baseline.loaded, &now.loaded)]
    {
        found.extend(plan(guest, expected, seen));
        found.extend(figures(baseline, guest, expected, seen));
    }
    found.extend(cause_changes(&baseline.causes, &now.causes));
    found.extend(invalid(runs));
    let identical = baseline.idle == now.idle && baseline.loaded == now.loaded;
    let moved: Vec<Moved> = found.iter().map(moved).collect();
    Drift { virtual_time: true, identical, fails: moved.iter().any(|moved| moved.fails), moved }
}

fn moved(deviation: &Deviation) -> Moved {
    Moved {
        kind: deviation.kind(),
        fails: deviation.fails(),
        sentence: words::claims::virtual_time::deviation(deviation),
    }
}

fn invalid(runs: &[SeedRun]) -> Vec<Deviation> {
    let wrong = runs.iter().filter(|run| !run.summary.valid || !run.summary.virtual_time);
    let unusable = wrong.map(|run| Deviation::Unusable {
        archive: run.summary.archive.clone(),
        invalid_because: run.summary.virtual_time.then(|| run.summary.invalid_because.clone()),
    });
    unusable.collect()
}

/// Reports a difference of the seeds.
fn plan(guest: Guest, expected: &[SeedFigures], seen: &[SeedFigures]) -> Option<Deviation> {
    let seeds = |list: &[SeedFigures]| -> Vec<u64> {
        let mut seeds: Vec<u64> = list.iter().map(|seed| seed.seed).collect();
        seeds.sort_unstable();
        seeds
    };
    let (expected, seen) = (seeds(expected), seeds(seen));
    (expected != seen).then_some(Deviation::Seeds { guest, expected, seen })
}

/// Compares figures over the seeds: the median of the quantiles, the largest maximum. Two kernels do not correspond
/// seed by seed.
fn figures(baseline: &Baseline, guest: Guest, expected: &[SeedFigures], seen: &[SeedFigures]) -> Vec<Deviation> {
    let mut moved = Vec::new();
    for figure in [FigureName::P50, FigureName::P99, FigureName::P99_9, FigureName::Max] {
        let Some((before_ns, now_ns)) =
            over_seeds(expected, &figure).zip(over_seeds(seen, &figure)).filter(|(old, new)| old != new)
        else {
            continue;
        };
        let tolerance = if guest == Guest::Idle && figure == FigureName::P50 {
            Tolerance::Nanoseconds(baseline.idle_tolerance_ns)
        } else {
            Tolerance::Percent(baseline.tolerance_percent)
        };
        moved.push(Deviation::Figure { guest, figure, before_ns, now_ns, tolerance });
    }
    moved
}

fn over_seeds(seeds: &[SeedFigures], figure: &FigureName) -> Option<i64> {
    let of = |seed: &SeedFigures| seed.named().into_iter().find(|(name, _)| name == figure)?.1;
    let mut values: Vec<i64> = seeds.iter().map(of).collect::<Option<_>>()?;
    values.sort_unstable();
    if *figure == FigureName::Max {
        values.last().copied()
    } else {
        values.get(values.len().checked_sub(1)? / 2).copied()
    }
}

fn causes_of(runs: &[SeedRun]) -> Vec<BaselineCause> {
    let pairs: Vec<(SeedRun, SeedRun)> = runs.iter().map(|run| (*run, *run)).collect();
    let shifts = causes::shifts(&pairs).into_iter().map(|shift| BaselineCause {
        culprit: shift.cause.culprit,
        function: shift.cause.function.unwrap_or_default(),
        longest_ns: shift.b_ns.unwrap_or_default(),
        seeds: shift.seeds_b,
    });
    let mut causes: Vec<BaselineCause> = shifts.collect();
    causes.sort_by(|one, other| other.longest_ns.cmp(&one.longest_ns).then(one.function.cmp(&other.function)));
    causes
}

fn cause_changes(expected: &[BaselineCause], seen: &[BaselineCause]) -> Vec<Deviation> {
    let same =
        |one: &BaselineCause, other: &BaselineCause| (&one.culprit, &one.function) == (&other.culprit, &other.function);
    let named = |cause: &BaselineCause| Cause {
        culprit: cause.culprit.clone(),
        function: Some(cause.function.clone()).filter(|function| !function.is_empty()),
    };
    let mut moved = Vec::new();
    for cause in seen {
        let longest_ns = cause.longest_ns;
        match expected.iter().find(|other| same(cause, other)) {
            None => moved.push(Deviation::NewCause { cause: named(cause), longest_ns, seeds: cause.seeds }),
            Some(old) if old.longest_ns != longest_ns => {
                moved.push(Deviation::CauseLength { cause: named(cause), longest_ns, before_ns: old.longest_ns });
            }
            Some(_) => {}
        }
    }
    // Without explanations, a missing cause is not a change.
    let gone = expected.iter().filter(|cause| !seen.is_empty() && !seen.iter().any(|other| same(cause, other)));
    moved.extend(gone.map(|cause| Deviation::GoneCause(named(cause))));
    moved
}

#[cfg(test)]
mod tests {
    use super::super::example::{Example, runs};
    use super::*;
    use fixtures::assert_sentence;

    fn side(longer_ns: i64) -> Vec<Example> {
        let of = |seed: u64| {
            let samples: Vec<i64> = (0..1000).map(|at| 3000 + (at * 7 + seed as i64) % 500 + longer_ns).collect();
            Example::new("old", seed, &samples).explained("irqs-off", &["f"], 1000)
        };
        vec![of(2), of(1), Example::new("old", 1, &[3577 + longer_ns; 10]).idle()]
    }

    fn baseline(tolerance_percent: f64, idle_tolerance_ns: i64) -> Baseline {
        let options = ["--load".to_owned(), "dentry".to_owned()];
        Baseline::of(&runs(&side(0)), "exact", &options, tolerance_percent, idle_tolerance_ns)
    }

    fn asked() -> RunSettings {
        Example::new("old", 1, &[]).summary.settings.unwrap()
    }

    #[test]
    fn ingredients_do_not_count_as_drift() {
        let baseline = baseline(0.0, 0);
        assert_eq!(baseline.check(), Ok(()));
        assert_eq!(baseline.loaded.iter().map(|seed| seed.seed).collect::<Vec<_>>(), [1, 2]);
        let drift = drift(&baseline, &asked(), &runs(&side(0)));
        assert_eq!((drift.identical, drift.fails, drift.moved), (true, false, vec![]));
    }

    #[test]
    fn a_moved_figure_is_reported_and_fails_beyond_its_tolerance() {
        let failing = |percent: f64, idle_ns: i64, longer_ns: i64| -> Vec<String> {
            let drift = drift(&baseline(percent, idle_ns), &asked(), &runs(&side(longer_ns)));
            assert_eq!(drift.fails, drift.moved.iter().any(|moved| moved.fails));
            drift.moved.into_iter().filter(|moved| moved.fails).map(|moved| moved.sentence).collect()
        };
        assert!(failing(5.0, 40, 37).is_empty());
        let idle = failing(5.0, 36, 37);
        let [idle] = &idle[..] else { panic!("{idle:?}") };
        assert_sentence!("baseline-moved", idle);
        let all = failing(5.0, 1000, 400);
        assert_sentence!("baseline-all-moved", all.join("\n"));
        assert!(!failing(5.0, 1000, -400).is_empty(), "a kernel that got faster wants a new baseline");
    }

    #[test]
    fn causes_are_reported_and_other_seeds_fail() {
        let mut now = side(0);
        now[0].explanations.clear();
        let now: Vec<Example> = now
            .into_iter()
            .map(|run| if run.run().is_idle() { run } else { run.explained("timers", &["g"], 900) })
            .collect();
        let found = drift(&baseline(0.0, 0), &asked(), &runs(&now));
        assert!(!found.fails);
        let moved: Vec<&str> = found.moved.iter().map(|moved| moved.sentence.as_str()).collect();
        assert_sentence!("baseline-new-cause", moved.join("\n"));
        let fewer = drift(&baseline(0.0, 0), &asked(), &runs(&side(0)[1..]));
        assert!(fewer.fails);
        assert!(fewer.moved[0].sentence.contains("has seeds [1, 2], the runs have [1]"), "{fewer:?}");
        let longer = drift(&baseline(0.0, 0), &RunSettings { duration_ns: Some(1), ..asked() }, &runs(&side(0)));
        assert!(longer.fails && longer.moved.iter().all(|moved| moved.kind == DriftKind::Plan), "{longer:?}");
    }
}
