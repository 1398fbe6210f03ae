//! Ranks of the runs of paired rounds, each among the runs of its round and of the neighbouring rounds.
//!
//! An outlier run has the highest rank and no more, so it hides little. Ranks among neighbours stay fine where the machine
//! drifts; where rounds have nothing in common, the differences of ranks become signs. Exchanging the names of a round's runs
//! changes no rank, so the differences take part in a sign-flip test.

/// Rounds on either side of a round that are its neighbours.
const REACH: usize = 3;

/// Difference of the ranks of each round's runs, second against first. Equal values share the mean of their ranks; ranks are
/// doubled to be integers.
pub fn differences(pairs: &[(f64, f64)]) -> Vec<i32> {
    let size = pairs.len().min(2 * REACH + 1);
    let difference = |at: usize| {
        let first = at.saturating_sub(REACH).min(pairs.len() - size);
        let runs = || pairs[first..first + size].iter().flat_map(|(one, other)| [*one, *other]);
        let rank = |value: f64| runs().map(|run| i32::from(run < value) + i32::from(run <= value)).sum::<i32>();
        rank(pairs[at].1) - rank(pairs[at].0)
    };
    (0..pairs.len()).map(difference).collect()
}

/// Share of the sign patterns whose sum is at least as far from zero as the observed one.
fn p_value(differences: &[i32]) -> f64 {
    let sizes: Vec<usize> = differences.iter().map(|difference| difference.unsigned_abs() as usize).collect();
    // Number of patterns by the sum of their positive differences.
    let mut patterns = vec![1.0];
    for size in &sizes {
        let mut next = patterns.clone();
        next.resize(patterns.len() + size, 0.0);
        next[*size..].iter_mut().zip(&patterns).for_each(|(number, before)| *number += before);
        patterns = next;
    }
    let all: usize = sizes.iter().sum();
    let observed = differences.iter().sum::<i32>().unsigned_abs() as usize;
    let as_far = patterns.iter().enumerate().filter(|(positive, _)| all.abs_diff(2 * positive) >= observed);
    as_far.map(|(_, number)| number).sum::<f64>() / (differences.len() as f64).exp2()
}

/// Range of the shifts of the second values that the ranks do not reject at this two-sided level; `None` without pairs.
pub fn interval(pairs: &[(f64, f64)], level: f64) -> Option<(f64, f64)> {
    let steps = steps(pairs);
    let last = steps.len().checked_sub(1)?;
    // Between two steps no rank changes.
    let ranks = |place: usize| {
        let shift = 0.5 * (steps[place / 2] + steps[place.div_ceil(2)]);
        differences(&pairs.iter().map(|(one, other)| (*one, other - shift)).collect::<Vec<_>>())
    };
    let kept = |place: usize| p_value(&ranks(place)) > level + 1e-12;
    let centre = first(0, 2 * last, |place| ranks(place).iter().sum::<i32>() <= 0);
    let low = first(0, centre, kept);
    let high = first(centre, 2 * last, |place| !kept(place + 1));
    Some((steps[low / 2], steps[high.div_ceil(2)]))
}

/// The first place for which a condition holds that holds for all later ones; `end` if it holds for no earlier one.
fn first(begin: usize, end: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (begin, end);
    while low < high {
        let middle = (low + high) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    high
}

/// Shifts at which a rank changes, ascending.
fn steps(pairs: &[(f64, f64)]) -> Vec<f64> {
    let near = |at: usize| &pairs[at.saturating_sub(2 * REACH)..pairs.len().min(at + 2 * REACH + 1)];
    let of = |(at, (_, other)): (usize, &(f64, f64))| near(at).iter().map(|(one, _)| other - one).collect::<Vec<f64>>();
    let mut steps: Vec<f64> = pairs.iter().enumerate().flat_map(of).collect();
    steps.sort_unstable_by(f64::total_cmp);
    steps.dedup();
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::Coin;
    use crate::sign_flip::SignFlip;

    fn normal(coin: &mut Coin) -> f64 {
        (-2.0 * (1.0 - coin.unit()).ln()).sqrt() * (std::f64::consts::TAU * coin.unit()).cos()
    }

    fn rounds(coin: &mut Coin, count: usize, shift: f64) -> Vec<(f64, f64)> {
        (0..count).map(|_| (normal(coin), shift + normal(coin))).collect()
    }

    #[test]
    fn an_outlier_counts_as_the_largest_and_ties_share_their_rank() {
        assert_eq!(differences(&[(1.0, 2.0), (3.0, 900.0)]), [2, 2]);
        assert_eq!(differences(&[(1.0, 1.0), (3.0, 1.0)]), [0, -4]);
        let far: Vec<(f64, f64)> = (0..20).map(|at| (f64::from(at), f64::from(at) + 0.5)).collect();
        assert!(
            differences(&far).iter().all(|difference| *difference == 2),
            "rounds with nothing in common have signs"
        );
        assert!(differences(&[]).is_empty());
    }

    #[test]
    fn the_share_of_patterns_equals_the_enumerated_one() {
        let mut coin = Coin::new(3);
        for count in [1, 6, 9] {
            let ranks = differences(&rounds(&mut coin, count, 0.5));
            let terms: Vec<f64> = ranks.iter().map(|difference| f64::from(*difference)).collect();
            assert!((p_value(&ranks) - SignFlip::of(&terms).unwrap().p_value()).abs() < 1e-12);
        }
    }

    #[test]
    fn the_interval_ends_where_the_ranks_reject() {
        let mut coin = Coin::new(4);
        for count in [7, 12] {
            let pairs = rounds(&mut coin, count, 2.0);
            let (low, high) = interval(&pairs, 0.05).unwrap();
            let rejected = |shift: f64| {
                let shifted: Vec<(f64, f64)> = pairs.iter().map(|(one, other)| (*one, other - shift)).collect();
                p_value(&differences(&shifted)) <= 0.05
            };
            assert!(rejected(low - 1e-9) && rejected(high + 1e-9), "{low} {high}");
            assert!(!rejected(low + 1e-9) && !rejected(high - 1e-9), "{low} {high}");
        }
        assert_eq!(interval(&[(1.0, 1.0); 8], 0.05), Some((0.0, 0.0)));
        assert_eq!(interval(&[], 0.05), None);
    }
}
