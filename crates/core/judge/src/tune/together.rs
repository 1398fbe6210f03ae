//! Pairs of members that help only, or help more, together: rounds with both, either and neither of them.

use super::configuration::Configuration;
use crate::e_process;
use crate::median::{median, median_error};
use crate::multiplicity::holm;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// More members have too many pairs to test.
const MEMBERS_MAX: usize = 5;
const ROUNDS_MIN: usize = 6;
const ROUNDS_MAX: usize = 16;
/// Standard errors by which a difference must stay below the least effect of interest to be called small.
const SMALL: f64 = 1.64;

/// Two members whose joint effect is larger than the sum of both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    pub members: [usize; 2],
    /// Ratio of the figure without each member to that with it, where the other member is off.
    pub alone: [f64; 2],
    /// Which member has no effect of interest without the other.
    pub needs_the_other: [bool; 2],
}

/// Differences of a pair in each round.
#[derive(Debug, Clone, PartialEq, Default)]
struct TestedPair {
    /// Effect of the second member beside the first less its effect without the first.
    excess: Vec<f64>,
    /// Effect of each member where the other one is off.
    alone: [Vec<f64>; 2],
    settled: bool,
}

impl TestedPair {
    /// Whether the effect without the other member stays below the least one of interest.
    fn needs_the_other(&self, side: usize, least: f64) -> bool {
        let alone = &self.alone[side];
        alone.len() >= ROUNDS_MIN && median(alone) + SMALL * median_error(alone) < least
    }

    fn helps_alone(&self, side: usize, least: f64) -> bool {
        let alone = &self.alone[side];
        alone.len() >= ROUNDS_MIN && median(alone) - SMALL * median_error(alone) > 0.5 * least
    }
}

/// State of this part.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Together {
    set: Configuration,
    risk: f64,
    least: f64,
    tested: BTreeMap<[usize; 2], TestedPair>,
}

impl Together {
    pub(super) fn new(set: Configuration, risk: f64, least: f64) -> Self {
        let members: Vec<usize> = set.candidates().collect();
        let members = if members.len() > MEMBERS_MAX { &[] } else { &members[..] };
        let pairs =
            members.iter().enumerate().flat_map(|(at, one)| members[at + 1..].iter().map(|other| [*one, *other]));
        Self { set, risk, least, tested: pairs.map(|pair| (pair, TestedPair::default())).collect() }
    }

    /// The configurations of the next round; empty if every pair is settled.
    pub(super) fn next(&self) -> Vec<Configuration> {
        let open = self.tested.iter().filter(|(_, tested)| !tested.settled);
        let mut round: Vec<Configuration> = open.flat_map(|(pair, _)| self.four(*pair)).collect();
        round.sort_unstable();
        round.dedup();
        round
    }

    /// With both, without the first, without the second, without both.
    fn four(&self, [one, other]: [usize; 2]) -> [Configuration; 4] {
        [self.set, self.set.without(one), self.set.without(other), self.set.without(one).without(other)]
    }

    pub(super) fn push(&mut self, round: &BTreeMap<Configuration, f64>) {
        let (set, least) = (self.set, self.least);
        for (pair, tested) in self.tested.iter_mut().filter(|(_, tested)| !tested.settled) {
            let [one, other] = *pair;
            let value = |configuration: Configuration| round.get(&configuration);
            let (Some(both), Some(without_one), Some(without_other), Some(neither)) = (
                value(set),
                value(set.without(one)),
                value(set.without(other)),
                value(set.without(one).without(other)),
            ) else {
                continue;
            };
            tested.alone[0].push(neither - without_other);
            tested.alone[1].push(neither - without_one);
            tested.excess.push((without_other - both) - (neither - without_one));
            let rounds = tested.excess.len();
            let clear =
                [0, 1].iter().all(|side| tested.needs_the_other(*side, least) || tested.helps_alone(*side, least));
            tested.settled = rounds >= ROUNDS_MAX || rounds >= ROUNDS_MIN && clear;
        }
    }

    /// Pairs whose excess the evidence shows, or of which a member has no effect of interest without the other.
    fn shown(&self) -> impl Iterator<Item = ([usize; 2], &TestedPair)> {
        let p_values: Vec<f64> = self.tested.values().map(|tested| e_process::p_value(&tested.excess)).collect();
        let tests = self.tested.iter().zip(holm(&p_values));
        let exceeds = |tested: &TestedPair, p: f64| p <= self.risk && median(&tested.excess) > 0.0;
        let needs = |tested: &TestedPair| [0, 1].iter().any(|side| tested.needs_the_other(*side, self.least));
        let shown = tests.filter(move |((_, tested), p)| exceeds(tested, *p) || needs(tested));
        shown.map(|((pair, tested), _)| (*pair, tested))
    }

    pub(super) fn pairs(&self) -> Vec<Pair> {
        let pair = |(members, tested): ([usize; 2], &TestedPair)| Pair {
            members,
            alone: [0, 1].map(|side| median(&tested.alone[side]).exp()),
            needs_the_other: [0, 1].map(|side| tested.needs_the_other(side, self.least)),
        };
        self.shown().map(pair).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::Coin;

    fn found(effect: impl Fn(Configuration) -> f64, set: &[usize]) -> (Vec<Pair>, usize) {
        let mut coin = Coin::new(8);
        let mut together = Together::new(set.iter().copied().collect(), 0.05, 1.1f64.ln());
        let mut runs = 0;
        loop {
            let next = together.next();
            if next.is_empty() {
                return (together.pairs(), runs);
            }
            runs += next.len();
            let run = |configuration| (configuration, effect(configuration) + 0.1 * (coin.unit() - 0.5));
            together.push(&next.into_iter().map(run).collect());
        }
    }

    #[test]
    fn a_member_that_needs_another_is_found() {
        let effect = |on: Configuration| {
            let first = if on.contains(3) { -0.4 } else { 0.0 };
            first + if on.contains(3) && on.contains(6) { -0.3 } else { 0.0 } + if on.contains(9) { -0.5 } else { 0.0 }
        };
        let (pairs, _) = found(effect, &[3, 6, 9]);
        assert_eq!(
            pairs.iter().map(|pair| (pair.members, pair.needs_the_other)).collect::<Vec<_>>(),
            [([3, 6], [false, true])]
        );
    }

    #[test]
    fn members_that_add_up_are_no_pair() {
        let effect = |on: Configuration| on.candidates().map(|_| -0.3).sum();
        let (pairs, runs) = found(effect, &[1, 2]);
        assert!(pairs.is_empty() && runs <= 4 * ROUNDS_MAX, "{pairs:?} {runs}");
        assert_eq!(found(effect, &[1, 2, 3, 4, 5, 6]).1, 0, "too many pairs");
    }
}
