//! Where a series splits, and how rare such a split is by chance: among permutations of the values, and among series
//! with the same correlation of neighbouring values.

use crate::blocks::autocorrelation;
use crate::coin::Coin;
use crate::stationarity::best_split;

/// Fewest runs on either side of a change.
pub const RUNS_A_SIDE: usize = 5;
/// Largest correlation of neighbouring values in a simulated series.
const AUTOCORRELATION_MAX: f64 = 0.9;
/// Step half-way, in standard deviations, that is found with 80 % probability in a series of each length, at one false
/// alarm in a thousand series. Simulated by `make simulate-judge`.
const DETECTABLE: [(usize, f64); 5] = [(20, 3.3), (30, 2.3), (60, 1.42), (120, 0.98), (300, 0.62)];

/// Step half-way that is found with 80 % probability in a series of `count` values, in their standard deviations.
pub fn detectable_step(count: usize) -> f64 {
    let after = DETECTABLE.iter().position(|(length, _)| *length >= count).unwrap_or(DETECTABLE.len() - 1).max(1);
    let ((short, large), (long, small)) = (DETECTABLE[after - 1], DETECTABLE[after]);
    let logarithm = |length: usize| (length as f64).ln();
    let share = ((logarithm(count) - logarithm(short)) / (logarithm(long) - logarithm(short))).clamp(0.0, 1.0);
    (large.ln() + share * (small.ln() - large.ln())).exp()
}

/// The smallest p-value that a permutation test of `count` runs can give: that of the best split of the sorted values.
pub fn least_p(count: usize) -> f64 {
    if count < 2 * RUNS_A_SIDE {
        return 1.0;
    }
    // Permutations that keep both sides together: at least two of (count choose RUNS_A_SIDE).
    let choices: f64 = (0..RUNS_A_SIDE).map(|at| (count - at) as f64 / (at + 1) as f64).product();
    2.0 / choices
}

/// A part of a series, its best split, and how rare that is.
struct Split {
    begin: usize,
    end: usize,
    at: usize,
    p_value: f64,
}

/// Where a series changes its level: the first index of each new part with the p-value of its split, ascending. Parts
/// are split further until no split has a p-value below `risk`.
pub fn change_points(series: &[f64], risk: f64, seed: u64) -> Vec<(usize, f64)> {
    let mut splits: Vec<Split> = Vec::new();
    let mut open = vec![(0, series.len())];
    while let Some((begin, end)) = open.pop() {
        let coin = Coin::of_round(seed, begin as u32);
        let split = among_orders(&series[begin..end], risk, coin);
        let Some((at, p_value)) = split.filter(|(_, p_value)| *p_value <= risk) else { continue };
        splits.push(Split { begin, end, at: begin + at, p_value });
        open.extend([(begin, begin + at), (begin + at, end)]);
    }
    let mut changes: Vec<usize> = splits.iter().map(|split| split.at).collect();
    changes.sort_unstable();
    // Several changes look like correlation until each is removed.
    let memory = Residuals::of(series, &changes).memory();
    if memory > 0.0 {
        for split in &mut splits {
            let coin = Coin::of_round(seed.wrapping_add(1), split.begin as u32);
            let part = &series[split.begin..split.end];
            split.p_value = split.p_value.max(among_memories(part, memory, risk, coin));
        }
    }
    let mut found: Vec<(usize, f64)> =
        splits.iter().filter(|split| split.p_value <= risk).map(|split| (split.at, split.p_value)).collect();
    found.sort_by_key(|(at, _)| *at);
    found
}

/// The best split of a part, and how rare it is among permutations of the values.
fn among_orders(part: &[f64], risk: f64, mut coin: Coin) -> Option<(usize, f64)> {
    let (at, statistic) = best_split(part, RUNS_A_SIDE)?;
    if least_p(part.len()) > risk || statistic <= 0.0 {
        return None;
    }
    let mut shuffled = part.to_vec();
    let rarity = rarity(risk, || {
        coin.shuffle(&mut shuffled);
        best_split(&shuffled, RUNS_A_SIDE).is_none_or(|(_, other)| other >= statistic * (1.0 - 1e-12))
    });
    Some((at, rarity))
}

/// How rare the best split of a part is among series with this correlation of neighbouring values.
fn among_memories(part: &[f64], memory: f64, risk: f64, mut coin: Coin) -> f64 {
    // A simulated series has another scale.
    let scaled = |series: &[f64]| Some(best_split(series, RUNS_A_SIDE)?.1 / mean_distance(series));
    let Some(seen) = scaled(part) else { return 1.0 };
    rarity(risk, || scaled(&drawn(&mut coin, part.len(), memory)).is_none_or(|other| other >= seen))
}

/// Share of draws that are as good, including the series itself. Ends early when it is too large.
fn rarity(risk: f64, mut as_good: impl FnMut() -> bool) -> f64 {
    let draws = (2.0 / risk).ceil() as u32 - 1;
    let mut good = 0;
    for drawn in 1..=draws {
        good += u32::from(as_good());
        if f64::from(good + 1) > risk * f64::from(draws + 1) {
            return f64::from(good + 1) / f64::from(drawn + 1);
        }
    }
    f64::from(good + 1) / f64::from(draws + 1)
}

/// A series without a change in which neighbouring values are correlated.
fn drawn(coin: &mut Coin, length: usize, memory: f64) -> Vec<f64> {
    let mut level = normal(coin);
    let fresh = (1.0 - memory * memory).sqrt();
    let next = |_| {
        let value = level;
        level = memory * level + fresh * normal(coin);
        value
    };
    (0..length).map(next).collect()
}

fn normal(coin: &mut Coin) -> f64 {
    (-2.0 * (1.0 - coin.unit()).ln()).sqrt() * (std::f64::consts::TAU * coin.unit()).cos()
}

fn mean_distance(series: &[f64]) -> f64 {
    let mut sorted = series.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let sum: f64 = sorted.iter().enumerate().map(|(at, value)| value * (2.0 * at as f64 + 1.0 - count)).sum();
    (2.0 * sum / (count * (count - 1.0))).max(f64::MIN_POSITIVE)
}

/// A series with its changes subtracted.
pub struct Residuals {
    values: Vec<f64>,
    parts: usize,
}

impl Residuals {
    /// `changes` holds the first index of each part except the first.
    pub fn of(series: &[f64], changes: &[usize]) -> Self {
        let mut ends = vec![0];
        ends.extend(changes.iter().copied().filter(|at| *at < series.len()));
        ends.push(series.len());
        let values = ends.windows(2).flat_map(|part| {
            let part = &series[part[0]..part[1]];
            let mean = part.iter().sum::<f64>() / part.len().max(1) as f64;
            part.iter().map(move |value| value - mean).collect::<Vec<_>>()
        });
        Self { values: values.collect(), parts: ends.len() - 1 }
    }

    /// Correlation of neighbouring values, corrected for the subtraction of the parts' means.
    fn memory(&self) -> f64 {
        let (count, parts) = (self.values.len() as f64, self.parts as f64);
        let Some(seen) = autocorrelation(&self.values, 1) else { return 0.0 };
        let left = 1.0 - 4.0 * parts / count;
        if left <= 0.1 { 0.0 } else { ((seen + parts / count) / left).clamp(0.0, AUTOCORRELATION_MAX) }
    }

    /// The same correlation if it is larger than chance explains in one of twenty series.
    pub fn autocorrelation(&self) -> Option<f64> {
        let (count, parts) = (self.values.len() as f64, self.parts as f64);
        let seen = autocorrelation(&self.values, 1)? + parts / count;
        (seen > 1.645 / count.sqrt()).then(|| self.memory())
    }

    /// Step half-way that would have been found with 80 % probability. `None` if the values are too few to find any.
    pub fn detectable(&self) -> Option<f64> {
        let count = Some(self.values.len()).filter(|count| *count >= DETECTABLE[0].0)?;
        let freedom = count.checked_sub(self.parts).filter(|freedom| *freedom > 0)? as f64;
        let deviation = (self.values.iter().map(|value| value * value).sum::<f64>() / freedom).sqrt();
        Some(detectable_step(count) * deviation).filter(|size| size.is_finite())
    }
}
