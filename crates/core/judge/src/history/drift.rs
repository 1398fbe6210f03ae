//! Drifts: changes in one direction that one ramp explains better than steps.
//!
//! The two are compared by Schwarz's information criterion (BIC), which counts what each may choose: steps their places and
//! levels, a ramp its two ends and two levels. Without strong evidence (Kass and Raftery 1995: a difference of 6) the
//! changes stay steps.

use std::ops::Range;

/// Difference of the criteria from which evidence counts as strong.
const STRONG: f64 = 6.0;
/// The same beside a single change: a ramp and a step differ by one parameter only, and positive evidence decides.
const POSITIVE: f64 = 2.0;
/// A level that changes within fewer runs than this is a step.
const RUNS_MIN: usize = 5;
/// Parameters of a ramp: both ends, both levels.
const RAMP: f64 = 4.0;
/// Places that are tried first for each end of a ramp; then every place beside the best ones.
const PLACES: usize = 60;

/// A level that changes steadily from one run to a later one.
#[derive(Debug, Clone, PartialEq)]
pub struct Drift {
    /// Which of the changes it replaces.
    pub changes: Range<usize>,
    /// The last run at the level before, and the first at the level after it.
    pub from: usize,
    pub until: usize,
    pub before: f64,
    pub after: f64,
}

/// The drifts of a series whose level changes at these places, ascending.
pub fn drifts(series: &[f64], changes: &[usize]) -> Vec<Drift> {
    let mut ends = vec![0];
    ends.extend_from_slice(changes);
    ends.push(series.len());
    let levels: Vec<f64> = ends.windows(2).map(|part| mean(&series[part[0]..part[1]])).collect();
    let rises: Vec<bool> = levels.windows(2).map(|pair| pair[1] > pair[0]).collect();
    let mut drifts = Vec::new();
    let mut first = 0;
    while first < rises.len() {
        let same = rises[first..].iter().take_while(|rises_too| **rises_too == rises[first]).count();
        let group = first..first + same;
        let part = ends[group.start]..ends[group.end + 1];
        let steps: f64 = (group.start..=group.end).map(|at| scatter(&series[ends[at]..ends[at + 1]])).sum();
        let ramp = Ramp::of(&series[part.clone()]).filter(|ramp| ramp.until - ramp.from >= RUNS_MIN);
        let parameters = 2.0 * group.len() as f64 + 1.0;
        let margin = if group.len() > 1 { STRONG } else { POSITIVE };
        if let Some(ramp) = ramp.filter(|ramp| {
            criterion(ramp.scatter, part.len(), RAMP) + margin <= criterion(steps, part.len(), parameters)
        }) {
            let (from, until) = (part.start + ramp.from, part.start + ramp.until);
            drifts.push(Drift { changes: group.clone(), from, until, before: ramp.before, after: ramp.after });
        }
        first = group.end;
    }
    drifts
}

fn mean(part: &[f64]) -> f64 {
    part.iter().sum::<f64>() / part.len().max(1) as f64
}

/// Sum of squares around the mean.
fn scatter(part: &[f64]) -> f64 {
    let mean = mean(part);
    part.iter().map(|value| (value - mean).powi(2)).sum()
}

fn criterion(scatter: f64, count: usize, parameters: f64) -> f64 {
    let count = count as f64;
    count * (scatter / count).max(f64::MIN_POSITIVE).ln() + parameters * count.ln()
}

/// A level, a straight line to another one, and that level.
#[derive(Debug, Clone, Copy)]
struct Ramp {
    from: usize,
    until: usize,
    before: f64,
    after: f64,
    scatter: f64,
}

impl Ramp {
    /// The one that fits a series best.
    fn of(series: &[f64]) -> Option<Self> {
        let last = series.len().checked_sub(1)?;
        let stride = (series.len() / PLACES).max(1);
        let rough =
            Self::best(series, &mut |from| from % stride == 0, &mut |until| until % stride == 0 || until == last)?;
        let near = |place: usize| move |other: usize| place.abs_diff(other) <= stride;
        Self::best(series, &mut near(rough.from), &mut near(rough.until))
    }

    fn best(
        series: &[f64],
        may_begin: &mut dyn FnMut(usize) -> bool,
        may_end: &mut dyn FnMut(usize) -> bool,
    ) -> Option<Self> {
        let begins: Vec<usize> = (0..series.len()).filter(|place| may_begin(*place)).collect();
        let ends: Vec<usize> = (0..series.len()).filter(|place| may_end(*place)).collect();
        let pairs = begins.iter().flat_map(|from| ends.iter().map(move |until| (*from, *until)));
        let fits = pairs.filter(|(from, until)| from < until).map(|(from, until)| Self::between(series, from, until));
        fits.min_by(|a, b| a.scatter.total_cmp(&b.scatter))
    }

    /// Least squares for given ends.
    fn between(series: &[f64], from: usize, until: usize) -> Self {
        let share = |at: usize| (at.saturating_sub(from) as f64 / (until - from) as f64).min(1.0);
        let count = series.len() as f64;
        let (mut shares, mut squares, mut products) = (0.0, 0.0, 0.0);
        for (at, value) in series.iter().enumerate() {
            let share = share(at);
            shares += share;
            squares += share * share;
            products += share * value;
        }
        let sum: f64 = series.iter().sum();
        let determinant = count * squares - shares * shares;
        let rise = if determinant > 0.0 { (count * products - shares * sum) / determinant } else { 0.0 };
        let before = (sum - rise * shares) / count;
        let of = |(at, value): (usize, &f64)| (value - before - rise * share(at)).powi(2);
        let scatter = series.iter().enumerate().map(of).sum();
        Self { from, until, before, after: before + rise, scatter }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::Coin;
    use crate::history::change_points;

    fn found(series: &[f64], seed: u64) -> (usize, Vec<Drift>) {
        let changes: Vec<usize> = change_points(series, 0.001, seed).into_iter().map(|(at, _)| at).collect();
        (changes.len(), drifts(series, &changes))
    }

    /// Uniform scatter of one unit around a level.
    fn noisy(seed: u64, count: usize, level: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut coin = Coin::new(seed);
        (0..count).map(|at| level(at as f64) + coin.unit()).collect()
    }

    #[test]
    fn a_ramp_is_one_drift_from_start_to_end() {
        for seed in 0..3 {
            let series = noisy(seed, 120, |at| 8.0 * ((at - 30.0) / 60.0).clamp(0.0, 1.0));
            let (changes, drifts) = found(&series, seed);
            assert!(changes >= 2 && drifts.len() == 1, "{seed}: {changes} {drifts:?}");
            assert_eq!(drifts[0].changes, 0..changes);
            assert!(drifts[0].from.abs_diff(30) <= 6 && drifts[0].until.abs_diff(90) <= 6, "{seed}: {drifts:?}");
            assert!((drifts[0].before - 0.5).abs() < 0.3 && (drifts[0].after - 8.5).abs() < 0.3, "{seed}: {drifts:?}");
        }
    }

    #[test]
    fn a_ramp_that_is_found_as_one_change_is_a_drift() {
        // 40 % in 60 runs, with a scatter of 8 %.
        let mut coin = Coin::new(5);
        let series = 12;
        let found: Vec<(usize, Vec<Drift>)> = (0..series)
            .map(|seed| {
                let scatter = |coin: &mut Coin| 0.08 * (0..12).map(|_| coin.unit() - 0.5).sum::<f64>();
                let ramp: Vec<f64> = (0..60).map(|at| 0.336 * f64::from(at) / 60.0 + scatter(&mut coin)).collect();
                found(&ramp, seed)
            })
            .collect();
        let changed = found.iter().filter(|(changes, _)| *changes > 0).count();
        let drifts = found.iter().filter(|(_, drifts)| drifts.len() == 1).count();
        assert!(changed > 6 && drifts * 4 >= changed * 3, "{drifts} drifts of {changed} changes");
        let steps = (0..series).filter(|seed| {
            let scatter = |coin: &mut Coin| 0.08 * (0..12).map(|_| coin.unit() - 0.5).sum::<f64>();
            let step: Vec<f64> = (0..60).map(|at| if at < 30 { 0.0 } else { 0.336 } + scatter(&mut coin)).collect();
            !self::found(&step, *seed).1.is_empty()
        });
        assert!(steps.count() <= 1, "a step stays one");
    }

    #[test]
    fn steps_stay_steps() {
        for seed in 0..3 {
            let up = noisy(seed, 120, |at| {
                if at < 40.0 {
                    0.0
                } else if at < 80.0 {
                    3.0
                } else {
                    6.0
                }
            });
            let (changes, drifts) = found(&up, seed);
            assert!(changes >= 2 && drifts.is_empty(), "{seed}: {changes} {drifts:?}");
            let back = noisy(seed, 120, |at| if (40.0..80.0).contains(&at) { 3.0 } else { 0.0 });
            assert_eq!(found(&back, seed).1, []);
            assert_eq!(found(&noisy(seed, 60, |at| if at < 30.0 { 0.0 } else { 3.0 }), seed).1, []);
        }
        assert_eq!(drifts(&[], &[]), []);
        assert_eq!(drifts(&[f64::NAN; 20], &[5, 10]), []);
    }
}
