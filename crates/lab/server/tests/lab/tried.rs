//! Experiments that were never run: kernels compared, in rounds of runs of the made-up year.

use judge::experiment::{PairedRound, Stopping, VariantFigures, experiment, metrics};
use judge::figure_name::FigureName;
use server::{ExperimentSeries, SeriesState, Side};
use std::path::Path;

/// What its verdict is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    Worse,
    Better,
    Nothing,
}

/// Rounds of which B has a share of the latencies of A, each with some scatter.
fn rounds(p50: f64, p99: f64, count: usize) -> Vec<PairedRound> {
    let figures = |round: usize, p50: f64, p99: f64| {
        let scatter = 1.0 + 0.01 * ((round * 7 % 5) as f64 - 2.0);
        let tail = 1.0 + (p99 - 1.0) / 3.0;
        let values = [
            (FigureName::P50, 11_000.0 * p50 * scatter),
            (FigureName::P99, 21_000.0 * p99 * scatter),
            (FigureName::P99_9, 33_000.0 * tail * scatter),
            (FigureName::Max, 60_000.0 * tail * scatter * (1.0 + 0.05 * ((round * 3 % 7) as f64))),
            (FigureName::MissedPeriods, (round % 2) as f64),
        ];
        let culprits = [("irq-off-section", p99 > 1.0), ("softirq-burst", round.is_multiple_of(2))];
        let culprits = culprits.into_iter().filter(|(_, seen)| *seen).map(|(name, _)| name.to_owned()).collect();
        VariantFigures { values: values.into(), loads: Vec::new(), culprits }
    };
    (0..count).map(|round| PairedRound { a: figures(round, 1.0, 1.0), b: figures(round + 2, p50, p99) }).collect()
}

/// An experiment whose rounds are runs of two kernels of the year, of which a board and load has `runs`.
fn series(directory: &Path, runs: usize, name: &str, found: Found, started_unix_ns: i64) -> ExperimentSeries {
    let (p50, p99, count) = match found {
        Found::Worse => (1.0, 1.37, 12),
        Found::Better => (0.8, 0.7, 12),
        Found::Nothing => (1.0, 1.0, 12),
    };
    let result = experiment(&rounds(p50, p99, count), &metrics(60_000.0), 0.95, Stopping::FixedRounds);
    let archive = |share: f64, round: usize| {
        directory.join(format!("pi-4-messaging-{:04}", (share * runs as f64).ceil() as usize + round))
    };
    let side = |options: &str| Side { options: options.into(), before: None, target: "pi-4".into() };
    ExperimentSeries {
        key: format!("{:016x}", name.bytes().fold(7u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()))),
        name: name.into(),
        started_unix_ns,
        state: SeriesState::Complete,
        problem: None,
        a: side("--target 6.6.30-rt30"),
        b: side("--target 6.12.8-rt5"),
        rounds_asked: count as u32,
        voids: u64::from(found == Found::Worse),
        void_because: Some("the load `messaging` made no progress".into()),
        emulated: false,
        virtual_time: false,
        result,
        // The last round is not in the index.
        rounds: (0..count)
            .map(|round| [archive(0.2, round), archive(if round + 1 < count { 0.5 } else { 9.0 }, round)])
            .collect(),
    }
}

/// One of each kind, and one whose texts do harm.
pub fn all(directory: &Path, runs: usize, now_unix_ns: i64) -> Vec<ExperimentSeries> {
    const DAY_NS: i64 = 86_400_000_000_000;
    let of = |name: &str, found, days: i64| series(directory, runs, name, found, now_unix_ns - days * DAY_NS);
    let mut hostile = of("<img src=x onerror=document.title='owned'>", Found::Nothing, 9);
    hostile.a.options = "--load-cmd '<script>alert(1)</script>'".into();
    hostile.b.before = Some("echo \"</code><img src=x>\"".into());
    (hostile.state, hostile.problem) = (SeriesState::Failed, Some("<b>3 rounds in a row failed".into()));
    vec![
        of("kernels/6.6-6.12", Found::Worse, 1),
        of("cpuidle", Found::Better, 3),
        of("noise-floor", Found::Nothing, 5),
        hostile,
    ]
}
