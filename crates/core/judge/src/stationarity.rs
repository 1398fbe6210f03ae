//! Tests whether a series is stationary: trend, level, independence, records. Extrapolation requires it; it also
//! distinguishes a machine that changed from one that scatters.

use crate::blocks::autocorrelation;
use crate::bounds::records_expected;
use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

/// A statistic and the probability that a stationary series gives one at least as extreme.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Test {
    pub statistic: f64,
    pub p_value: f64,
}

fn two_sided(z: f64) -> Option<Test> {
    let normal = Normal::standard();
    z.is_finite().then(|| Test { statistic: z, p_value: (2.0 * normal.sf(z.abs())).min(1.0) })
}

/// Trend: Z of Mann and Kendall's count of rising minus falling pairs, corrected for ties. `None` for fewer than three
/// values, or if all are equal.
pub fn mann_kendall(series: &[f64]) -> Option<Test> {
    let count = series.len() as f64;
    if series.len() < 3 || series.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut rising = 0i64;
    for (at, one) in series.iter().enumerate() {
        rising += series[at + 1..].iter().map(|other| i64::from(other > one) - i64::from(other < one)).sum::<i64>();
    }
    let pairs = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let tied: f64 = tie_lengths(series).into_iter().map(pairs).sum();
    let variance = (pairs(count) - tied) / 18.0;
    let continuous = (rising.unsigned_abs().saturating_sub(1)) as f64 * (rising.signum() as f64);
    if variance > 0.0 { two_sided(continuous / variance.sqrt()) } else { None }
}

fn tie_lengths(series: &[f64]) -> Vec<f64> {
    let mut sorted = series.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.chunk_by(|one, other| one == other).map(|ties| ties.len() as f64).collect()
}

/// Level: the statistic of Kwiatkowski, Phillips, Schmidt and Shin with `lags` lags. Its p-value is interpolated in the
/// published table, which ends at 0.01 and 0.10. `None` for a constant series.
pub fn kpss_level(series: &[f64], lags: usize) -> Option<Test> {
    const TABLE: [(f64, f64); 4] = [(0.347, 0.10), (0.463, 0.05), (0.574, 0.025), (0.739, 0.01)];
    let count = series.len() as f64;
    let mean = series.iter().sum::<f64>() / count;
    let rest: Vec<f64> = series.iter().map(|value| value - mean).collect();
    let mut sum = 0.0;
    let partial: f64 = rest
        .iter()
        .map(|value| {
            sum += value;
            sum * sum
        })
        .sum();
    let product = |lag: usize| rest.iter().zip(rest.get(lag..).unwrap_or(&[])).map(|(a, b)| a * b).sum::<f64>() / count;
    let bartlett = |lag: usize| 1.0 - lag as f64 / (lags + 1) as f64;
    let long_run = product(0) + 2.0 * (1..=lags).map(|lag| bartlett(lag) * product(lag)).sum::<f64>();
    let statistic = partial / (count * count * long_run);
    if !statistic.is_finite() || long_run <= 0.0 {
        return None;
    }
    let between = TABLE.windows(2).find(|ends| statistic < ends[1].0);
    let p_value = match between {
        _ if statistic <= TABLE[0].0 => TABLE[0].1,
        Some(ends) => {
            let share = (statistic - ends[0].0) / (ends[1].0 - ends[0].0);
            ends[0].1 + share * (ends[1].1 - ends[0].1)
        }
        None => TABLE[3].1,
    };
    Some(Test { statistic, p_value })
}

/// The usual number of lags of [`kpss_level`] for a series of this length.
pub fn kpss_lags(length: usize) -> usize {
    (4.0 * (length as f64 / 100.0).powf(0.25)).trunc() as usize
}

/// Independence: Ljung and Box's sum over `lags` lags. `None` for a constant or too short series.
pub fn ljung_box(series: &[f64], lags: usize) -> Option<Test> {
    let count = series.len() as f64;
    if lags == 0 || series.len() <= lags {
        return None;
    }
    let terms = (1..=lags).map(|lag| Some(autocorrelation(series, lag)?.powi(2) / (count - lag as f64)));
    let statistic = count * (count + 2.0) * terms.sum::<Option<f64>>()?;
    let p_value = ChiSquared::new(lags as f64).ok()?.sf(statistic);
    statistic.is_finite().then_some(Test { statistic, p_value })
}

/// Independence: Z of the number of runs above and below the median (Wald and Wolfowitz). Values at the median count as
/// below. `None` if all values are on one side.
pub fn runs_about_median(series: &[f64]) -> Option<Test> {
    let mut sorted = series.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    let median = match sorted.len() {
        0 => return None,
        odd if odd % 2 == 1 => sorted[half],
        _ => 0.5 * (sorted[half - 1] + sorted[half]),
    };
    let above: Vec<bool> = series.iter().map(|value| *value > median).collect();
    let runs = 1.0 + above.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64;
    let over = above.iter().filter(|above| **above).count() as f64;
    let under = above.len() as f64 - over;
    if over == 0.0 || under == 0.0 {
        return None;
    }
    let (count, product) = (over + under, 2.0 * over * under);
    let variance = product * (product - count) / (count * count * (count - 1.0));
    two_sided((runs - 1.0 - product / count) / variance.sqrt())
}

/// Trend of the extremes: Z of the number of records. Too many indicate growing maxima.
pub fn records(series: &[f64]) -> Option<Test> {
    let mut largest = f64::NEG_INFINITY;
    let mut count = 0u32;
    for value in series {
        if *value > largest {
            (largest, count) = (*value, count + 1);
        }
    }
    let (mean, variance) = records_expected(series.len() as u64);
    if variance > 0.0 { two_sided((f64::from(count) - mean) / variance.sqrt()) } else { None }
}

/// The best single split of a series: the index at which the second part starts and the E-divisive statistic (Matteson
/// and James 2014, exponent 1). Each part has at least `part_min` values; `None` if there is no such split.
pub fn best_split(series: &[f64], part_min: usize) -> Option<(usize, f64)> {
    let part_min = part_min.max(2);
    if series.len() < 2 * part_min || series.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let distances = |part: &[f64], other: &[f64]| -> f64 {
        part.iter().map(|one| other.iter().map(|two| (one - two).abs()).sum::<f64>()).sum()
    };
    // Moving one value across the split changes each sum by its distances to both parts.
    let (mut before, mut after) = series.split_at(part_min);
    let (mut within_before, mut within_after) = (distances(before, before), distances(after, after));
    let mut between = distances(before, after);
    let mut best: Option<(usize, f64)> = None;
    loop {
        let (m, n) = (before.len() as f64, after.len() as f64);
        let energy = 2.0 * between / (m * n) - within_before / (m * (m - 1.0)) - within_after / (n * (n - 1.0));
        let statistic = m * n / (m + n) * energy;
        if best.is_none_or(|(_, largest)| statistic > largest) {
            best = Some((before.len(), statistic));
        }
        if after.len() <= part_min {
            return best;
        }
        let moved = &after[..1];
        let (to_before, to_after) = (distances(moved, before), distances(moved, after));
        within_before += 2.0 * to_before;
        within_after -= 2.0 * to_after;
        between += to_after - to_before;
        (before, after) = series.split_at(before.len() + 1);
    }
}

/// Annual flow of the Nile at Aswan, 1871 to 1970.
#[cfg(test)]
pub(crate) const NILE: [f64; 100] = [
    1120., 1160., 963., 1210., 1160., 1160., 813., 1230., 1370., 1140., 995., 935., 1110., 994., 1020., 960., 1180.,
    799., 958., 1140., 1100., 1210., 1150., 1250., 1260., 1220., 1030., 1100., 774., 840., 874., 694., 940., 833.,
    701., 916., 692., 1020., 1050., 969., 831., 726., 456., 824., 702., 1120., 1100., 832., 764., 821., 768., 845.,
    864., 862., 698., 845., 744., 796., 1040., 759., 781., 865., 845., 944., 984., 897., 822., 1010., 771., 676., 649.,
    846., 812., 742., 801., 1040., 860., 874., 848., 890., 744., 749., 838., 1050., 918., 986., 797., 923., 975., 815.,
    1020., 906., 901., 1170., 912., 746., 919., 718., 714., 740.,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::Coin;
    use crate::extremes::published::PORT_PIRIE;

    #[track_caller]
    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() <= 1e-6 * expected.abs().max(1e-6), "{value} is not {expected}");
    }

    #[test]
    fn the_series_is_the_published_one() {
        assert_eq!(NILE.iter().sum::<f64>(), 91_935.0);
    }

    #[test]
    fn the_reference_values_hold() {
        for (lags, expected) in [(1, 25.593832), (5, 63.971712), (10, 88.126872), (20, 128.662090)] {
            near(ljung_box(&NILE, lags).unwrap().statistic, expected);
        }
        assert!((kpss_level(&NILE, 4).unwrap().statistic - 0.965435).abs() < 1e-6);
        assert_eq!((kpss_lags(100), kpss_lags(65)), (4, 3));
        let twelve = kpss_level(&NILE, 12).unwrap();
        assert!((twelve.statistic - 0.549720).abs() < 1e-6 && (twelve.p_value - 0.03047).abs() < 1e-5, "{twelve:?}");
        let runs = runs_about_median(&NILE).unwrap();
        assert!((runs.statistic + 4.221374).abs() < 1e-6, "{runs:?}");
        assert!((runs.p_value / 2.42817e-5 - 1.0).abs() < 1e-4, "{runs:?}");
        let trend = mann_kendall(&NILE).unwrap();
        assert!(
            (trend.statistic + 4.128067).abs() < 1e-6 && (trend.p_value / 3.65826e-5 - 1.0).abs() < 1e-4,
            "{trend:?}"
        );
        let (at, statistic) = best_split(&NILE, 5).unwrap();
        assert_eq!(at, 28);
        near(statistic, 4807.5213);
    }

    #[test]
    fn the_reference_values_of_an_unchanging_series_hold() {
        let close = |test: Test, statistic: f64, p_value: f64| {
            assert!((test.statistic - statistic).abs() < 1e-6, "{test:?} is not {statistic}");
            assert!((test.p_value - p_value).abs() < 1e-6, "{test:?} has not p = {p_value}");
        };
        close(ljung_box(&PORT_PIRIE, 10).unwrap(), 5.829842, 0.829351);
        close(ljung_box(&PORT_PIRIE, 1).unwrap(), 0.098674, 0.753427);
        close(runs_about_median(&PORT_PIRIE).unwrap(), -0.537163, 0.591155);
        let level = kpss_level(&PORT_PIRIE, 3).unwrap();
        assert!((level.statistic - 0.057753).abs() < 1e-6 && level.p_value >= 0.1, "{level:?}");
    }

    #[test]
    fn series_without_content_have_no_test() {
        for series in [&[][..], &[1.0], &[2.0; 50]] {
            assert_eq!(mann_kendall(series), None);
            assert_eq!(ljung_box(series, 3), None);
            assert_eq!(kpss_level(series, 2), None);
            assert_eq!(runs_about_median(series), None);
        }
        assert_eq!(best_split(&[1.0, 2.0, 3.0], 2), None);
        assert_eq!(best_split(&[f64::NAN; 30], 5), None);
        assert_eq!(records(&[]), None);
    }

    #[test]
    fn growing_extremes_set_too_many_records() {
        let growing: Vec<f64> = (0..200).map(f64::from).collect();
        assert!(records(&growing).unwrap().p_value < 1e-6);
        let mut coin = Coin::new(4);
        let alike: Vec<f64> = (0..200).map(|_| coin.unit()).collect();
        assert!(records(&alike).unwrap().p_value > 0.01);
        assert!(mann_kendall(&alike).unwrap().p_value > 0.01);
    }
}
