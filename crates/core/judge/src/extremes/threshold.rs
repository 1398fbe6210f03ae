//! The threshold above which a tail is regular: among fixed numbers of largest peaks, the largest number that follows a
//! generalised Pareto distribution, and whether the very largest values stand apart.

use super::peaks::{ParetoFit, distance_p_value, fit};

/// Numbers of peaks to try, the lowest threshold first.
const CANDIDATES: [usize; 7] = [400, 300, 200, 150, 100, 75, 50];
/// Largest share of all peaks in the tail.
const TAIL_SHARE: f64 = 0.1;
/// Accepted share of thresholds wrongly rejected as too low (G'Sell and others 2016).
const FALSE_SHARE: f64 = 0.05;
/// Number of spacings to check, and the size at which the largest of them is unlikely (1 %) in a regular tail.
const SPACINGS: usize = 20;
const SPACING_MAX: f64 = 7.6;
/// Few large events of another cause leave a gap below themselves and lie close together. For few spacings a smaller
/// gap suffices.
const FEW: usize = 5;
const SPACING_MAX_OF_FEW: f64 = 5.3;
/// A gap below at most `CLOSE` events is compared with the spacings between them; below this probability it indicates
/// another cause.
const CLOSE: usize = 10;
const CLOSE_RISK: f64 = 0.002;

/// Fewest peaks for a tail.
pub const PEAKS_MIN: usize = (CANDIDATES[CANDIDATES.len() - 1] as f64 / TAIL_SHARE) as usize;

/// A regular tail.
#[derive(Debug, Clone, PartialEq)]
pub struct Tail {
    pub threshold: f64,
    /// Excesses of the peaks over the threshold.
    pub excesses: Vec<f64>,
    pub fit: ParetoFit,
    pub distance_p: f64,
}

/// The largest peaks above the lowest threshold, largest first; `None` for fewer than [`PEAKS_MIN`] peaks.
pub fn largest(peaks: &[f64]) -> Option<Vec<f64>> {
    let tail = (peaks.len() as f64 * TAIL_SHARE + 1e-9) as usize;
    let most = CANDIDATES.into_iter().find(|count| *count <= tail)?;
    let mut sorted = peaks.to_vec();
    sorted.sort_by(|one, other| other.total_cmp(one));
    // One more than the tail: the threshold.
    sorted.truncate(most + 1);
    Some(sorted)
}

/// Share of values that have an equal.
pub fn tied(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties =
        sorted.chunk_by(|one, other| one == other).filter(|ties| ties.len() > 1).map(<[f64]>::len).sum::<usize>();
    ties as f64 / values.len().max(1) as f64
}

/// Number of largest values that lie so far from the others that they must have another cause.
pub fn apart(largest_first: &[f64]) -> Option<usize> {
    let spacings: Vec<f64> = largest_first
        .windows(2)
        .take(SPACINGS)
        .enumerate()
        .map(|(at, pair)| (at + 1) as f64 * (pair[0] - pair[1]))
        .collect();
    let mean = spacings.iter().sum::<f64>() / spacings.len().max(1) as f64;
    let (at, widest) = spacings.iter().enumerate().max_by(|one, other| one.1.total_cmp(other.1))?;
    let enough = if at < FEW { SPACING_MAX_OF_FEW } else { SPACING_MAX };
    let wide = (mean > 0.0 && widest / mean > enough).then_some(at + 1);
    wide.or_else(|| close_together(&spacings))
}

/// Number of largest values that lie closer together above a gap than in any regular tail. In a regular tail the gap
/// over the mean of the spacings above it follows the F distribution with 2 and twice the number of spacings as degrees
/// of freedom.
fn close_together(spacings: &[f64]) -> Option<usize> {
    (1..spacings.len().min(CLOSE)).find_map(|above| {
        let mean = spacings[..above].iter().sum::<f64>() / above as f64;
        let rarity = (1.0 + spacings[above] / mean / above as f64).powi(-(above as i32));
        (mean > 0.0 && rarity < CLOSE_RISK).then_some(above + 1)
    })
}

/// The lowest threshold above which the peaks follow a generalised Pareto distribution, by ForwardStop (Bader, Yan and
/// Zhang 2018); `None` if there is none. `largest_first` comes from [`largest`].
pub fn tail(largest_first: &[f64]) -> Option<Tail> {
    let mut sum = 0.0;
    let counts: Vec<usize> = CANDIDATES.into_iter().filter(|count| *count < largest_first.len()).collect();
    let mut rejected = 0;
    let mut tails = Vec::new();
    for (number, count) in counts.iter().enumerate() {
        let threshold = largest_first[*count];
        let excesses: Vec<f64> =
            largest_first[..*count].iter().map(|peak| peak - threshold).filter(|excess| *excess > 0.0).collect();
        let fitted = fit(&excesses);
        let p = fitted.map_or(0.0, |fit| distance_p_value(fit.distance(&excesses), fit.xi));
        sum -= (1.0 - p).ln();
        if sum / (number + 1) as f64 <= FALSE_SHARE {
            rejected = number + 1;
        }
        tails.push(fitted.map(|fit| Tail { threshold, excesses, fit, distance_p: p }));
    }
    tails.into_iter().nth(rejected).flatten()
}

/// Extremal index of peaks over a threshold by the intervals between them (Ferro and Segers 2003): the inverse of the
/// mean size of a cluster. 1 if they come singly, `None` for fewer than two peaks. `at` holds their indices in the
/// series, ascending.
pub fn extremal_index(at: &[usize]) -> Option<f64> {
    let gaps: Vec<f64> = at.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let count = gaps.len() as f64;
    if gaps.is_empty() {
        return None;
    }
    let long = gaps.iter().any(|gap| *gap > 2.0);
    let (sum, squares): (f64, f64) = if long {
        (gaps.iter().map(|gap| gap - 1.0).sum(), gaps.iter().map(|gap| (gap - 1.0) * (gap - 2.0)).sum())
    } else {
        (gaps.iter().sum(), gaps.iter().map(|gap| gap * gap).sum())
    };
    if squares <= 0.0 { Some(1.0) } else { Some((2.0 * sum * sum / (count * squares)).min(1.0)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::Coin;

    fn exponential(coin: &mut Coin) -> f64 {
        -(1.0 - coin.unit()).ln()
    }

    #[test]
    fn of_a_regular_tail_much_is_taken() {
        let mut coin = Coin::new(8);
        let peaks: Vec<f64> = (0..4000).map(|_| exponential(&mut coin)).collect();
        let largest = largest(&peaks).unwrap();
        assert_eq!(largest.len(), 401);
        let tail = tail(&largest).unwrap();
        assert!(tail.excesses.len() >= 200 && apart(&largest).is_none(), "{}", tail.excesses.len());
        assert!(tail.fit.xi.abs() < 0.2, "{:?}", tail.fit);
        assert!(super::largest(&peaks[..PEAKS_MIN - 1]).is_none() && super::largest(&peaks[..PEAKS_MIN]).is_some());
    }

    #[test]
    fn a_second_mode_moves_the_threshold_up_or_ends_it() {
        let mut coin = Coin::new(8);
        // 120 of 4000 peaks have another cause.
        let peaks: Vec<f64> =
            (0..4000).map(|at| exponential(&mut coin) * 2.0 + if at % 33 == 0 { 60.0 } else { 0.0 }).collect();
        let largest = largest(&peaks).unwrap();
        assert!(tail(&largest).is_none_or(|tail| tail.threshold > 59.0));
    }

    #[test]
    fn outliers_are_counted() {
        let mut coin = Coin::new(1);
        let mut values: Vec<f64> = (0..100).map(|_| exponential(&mut coin)).collect();
        values.sort_by(|one, other| other.total_cmp(one));
        assert_eq!(apart(&values), None);
        values[..3].iter_mut().for_each(|value| *value += 100.0);
        assert_eq!(apart(&values), Some(3));
        let mut few = values[3..].to_vec();
        let top = few[0];
        few.splice(..0, [3.50, 3.45, 3.42, 3.40].map(|above| top + above));
        assert_eq!(apart(&few), Some(4), "four events close together, not far above the rest");
        assert_eq!((apart(&[]), apart(&[1.0; 30])), (None, None));
        assert_eq!((tied(&[1.0, 2.0, 1.0, 3.0]), tied(&[])), (0.5, 0.0));
    }

    #[test]
    fn peaks_that_come_in_pairs_have_half_the_index() {
        let mut coin = Coin::new(12);
        // Each burst lasts two steps.
        let burst: Vec<bool> = (0..40_000).map(|_| coin.unit() < 0.01).collect();
        let at: Vec<usize> = (1..burst.len()).filter(|at| burst[*at] || burst[at - 1]).collect();
        let index = extremal_index(&at).unwrap();
        assert!((index - 0.5).abs() < 0.06, "{index}");
        let single: Vec<usize> = (0..burst.len()).filter(|at| burst[*at]).collect();
        assert!(extremal_index(&single).unwrap() > 0.93);
        assert_eq!((extremal_index(&[]), extremal_index(&[3])), (None, None));
    }
}
