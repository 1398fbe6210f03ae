//! Screening: pairs of runs with random halves of the open candidates estimate the effect of all of them at once.
//!
//! The second run of a pair has exactly the open candidates on that the first one has off, so a drift hardly shows in
//! their difference, and a candidate that acts only beside another shows with half its effect. Screening claims nothing: it decides
//! which candidates the confirmation tests, on fresh runs.
//!
//! Every second block has no open candidate on in one run and all in the other that do not seem to harm: if that gains less than the least
//! effect of interest, no open candidate is worth a test, alone or beside another one.

use super::configuration::Configuration;
use super::regression::{self, Coefficient};
use crate::coin::Coin;
use crate::median::{median, median_error};

/// Standard errors by which a candidate must help to be tested.
const HELPS: f64 = 3.0;
/// The same for a candidate that an explained spike names.
const HELPS_IF_NAMED: f64 = 1.5;
/// Share of the least effect of interest that an estimate must reach for a test, however small its error.
const NEGLIGIBLE: f64 = 0.25;
/// Standard errors by which a candidate must harm to be left out.
const HARMS: f64 = 3.0;
/// Standard errors by which all open candidates together must stay below the least effect of interest to be left out.
const USELESS: f64 = 2.0;
/// Pairs beyond the number of candidates before anything is decided: fewer estimate the scatter badly.
const PAIRS_BEYOND: usize = 8;
/// Comparisons of all open candidates with none before they are left out together.
const COMPARISONS_MIN: usize = 6;
/// Random halves among which the next pair is the one that separates the candidates best.
const DRAWS: usize = 32;

/// Two runs of a screening pair.
#[derive(Debug, Clone, PartialEq)]
struct Pair {
    /// 1: on in the first run only; -1: in the second only; 0: in both or in neither.
    signs: Vec<f64>,
    /// Logarithm of the figure, first run less second.
    difference: f64,
}

/// Decisions of the screening so far.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Screening {
    pairs: Vec<Pair>,
    named: Configuration,
    /// Least effect of interest, as a logarithm of the figure.
    least: f64,
    pub(super) open: Configuration,
    /// Helped; on in every later pair, so that candidates that need them show.
    pub(super) on: Configuration,
    pub(super) effects: Vec<Option<Coefficient>>,
    /// Logarithm of the figure without the open candidates less that with all of them.
    all_open: Vec<f64>,
}

impl Screening {
    pub(super) fn new(candidates: usize, named: Configuration, least: f64) -> Self {
        let open = Configuration::all(candidates);
        let effects = vec![None; open.len()];
        Self { pairs: Vec::new(), named, least, open, on: Configuration::NONE, effects, all_open: Vec::new() }
    }

    #[cfg(test)]
    fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// The next block.
    pub(super) fn next(&self, coin: &mut Coin) -> [Configuration; 2] {
        if self.pairs_enough() && self.all_open.len() <= self.pairs.len() - self.pairs_asked() {
            return [self.on, self.on.union(self.hopeful())];
        }
        let draws = (0..DRAWS).map(|_| self.half(coin));
        let chosen = draws.min_by(|one, other| self.overlap(*one).total_cmp(&self.overlap(*other)));
        let half = chosen.unwrap_or_default();
        [half.union(self.on), self.open.minus(half).union(self.on)]
    }

    /// Open candidates without the ones that seem to harm: these would hide the gain of others.
    fn hopeful(&self) -> Configuration {
        let harms = |effect: Coefficient| effect.value > effect.standard_error;
        self.open.candidates().filter(|candidate| !self.effects[*candidate].is_some_and(harms)).collect()
    }

    fn pairs_asked(&self) -> usize {
        self.effects.len() + PAIRS_BEYOND
    }

    fn pairs_enough(&self) -> bool {
        self.pairs.len() >= self.pairs_asked()
    }

    /// Each open candidate by its own toss: halves of a fixed size would make the columns of the candidates depend on each other.
    fn half(&self, coin: &mut Coin) -> Configuration {
        self.open.candidates().filter(|_| coin.next_u64() & 1 == 0).collect()
    }

    /// How much the columns of the candidates would resemble each other with this half: the sum of their squared products.
    fn overlap(&self, half: Configuration) -> f64 {
        let signs = self.signs([half, self.open.minus(half)]);
        let with: Vec<f64> = self.pairs.iter().map(|pair| dot(&pair.signs, &signs)).collect();
        with.iter().map(|product| product * product).sum()
    }

    fn signs(&self, [first, second]: [Configuration; 2]) -> Vec<f64> {
        let sign = |candidate| {
            f64::from(u8::from(first.contains(candidate))) - f64::from(u8::from(second.contains(candidate)))
        };
        (0..self.effects.len()).map(sign).collect()
    }

    /// Adds a measured block, with the logarithm of each run's figure, and decides on candidates.
    pub(super) fn push(&mut self, configurations: [Configuration; 2], values: [f64; 2]) {
        let with_all = self.on.union(self.hopeful());
        match (configurations, values) {
            ([none, all], [without, with]) | ([all, none], [with, without])
                if none == self.on && all == with_all && self.pairs_enough() =>
            {
                self.all_open.push(without - with);
            }
            (_, [first, second]) => {
                self.pairs.push(Pair { signs: self.signs(configurations), difference: first - second });
            }
        }
        if self.pairs_enough() {
            self.decide();
        }
    }

    fn decide(&mut self) {
        let rows: Vec<Vec<f64>> = self.pairs.iter().map(|pair| pair.signs.clone()).collect();
        let values: Vec<f64> = self.pairs.iter().map(|pair| pair.difference).collect();
        let Some(effects) = regression::robust(&rows, &values) else { return };
        for candidate in self.open.candidates() {
            let effect = effects[candidate];
            self.effects[candidate] = Some(effect);
            let helps = -effect.value;
            let asked = if self.named.contains(candidate) { HELPS_IF_NAMED } else { HELPS };
            if helps < -HARMS * effect.standard_error {
                self.open = self.open.without(candidate);
                self.all_open.clear();
            } else if helps > (asked * effect.standard_error).max(NEGLIGIBLE * self.least) {
                self.open = self.open.without(candidate);
                self.on = self.on.with(candidate);
                self.all_open.clear();
            }
        }
        let gain = median(&self.all_open) + USELESS * median_error(&self.all_open);
        if self.all_open.len() >= COMPARISONS_MIN && gain < self.least {
            self.open = Configuration::NONE;
        }
    }
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(left, right)| left * right).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screened(effect: impl Fn(Configuration) -> f64, named: Configuration, pairs: usize) -> Screening {
        let mut coin = Coin::new(4);
        let mut screening = Screening::new(12, named, 1.1f64.ln());
        for _ in 0..pairs {
            if screening.open.is_empty() {
                break;
            }
            let both = screening.next(&mut coin);
            let run = |configuration, coin: &mut Coin| effect(configuration) + 0.1 * (coin.unit() - 0.5);
            let values = both.map(|configuration| run(configuration, &mut coin));
            screening.push(both, values);
        }
        screening
    }

    #[test]
    fn each_pair_has_every_open_candidate_on_once() {
        let mut coin = Coin::new(4);
        let mut screening = Screening::new(7, Configuration::NONE, 0.1);
        screening.open = screening.open.without(2).without(3);
        screening.on = screening.on.with(3);
        for _ in 0..50 {
            let [first, second] = screening.next(&mut coin);
            assert!(first.contains(3) && second.contains(3) && !first.contains(2) && !second.contains(2));
            for candidate in screening.open.candidates() {
                assert!(first.contains(candidate) != second.contains(candidate));
            }
        }
    }

    #[test]
    fn candidates_that_help_stay_and_harmful_and_useless_ones_go() {
        let effect = |on: Configuration| {
            let helps = if on.contains(1) { -0.4 } else { 0.0 };
            let together = if on.contains(5) && on.contains(8) { -0.4 } else { 0.0 };
            let harms = if on.contains(9) { 0.5 } else { 0.0 };
            helps + together + harms
        };
        let screening = screened(effect, Configuration::NONE, 60);
        assert_eq!(screening.on, [1, 5, 8].into_iter().collect());
        assert!(screening.open.is_empty());
    }

    #[test]
    fn a_scatter_as_large_as_the_effect_leaves_candidates_open() {
        let screening = screened(|_| 0.0, Configuration::NONE, 16);
        assert_eq!(screening.pairs(), 16);
        assert_eq!(screening.open.len(), 12, "fewer pairs than are asked decide nothing");
    }
}
