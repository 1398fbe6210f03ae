//! Confirmation: rounds with all chosen candidates and with one less show which of them are needed.
//!
//! The evidence of a candidate is that of an experiment that may end after any round ([`crate::e_process`]), on runs that
//! the choice has not seen. A candidate that has no effect beside any others gives symmetric differences in every round,
//! also when the set beside it shrinks, so its evidence goes on. Holm's correction over the chosen candidates bounds the
//! probability that a useless one is confirmed.

use super::configuration::Configuration;
use crate::e_process;
use crate::median::{median, median_error};
use crate::multiplicity::holm;
use std::collections::BTreeMap;

/// Rounds beside the present set before a candidate is dropped.
const ROUNDS_TO_DROP: usize = 8;
/// Standard errors by which an effect must stay below the least effect of interest to be dropped.
const DROPPED: f64 = 1.64;

/// A candidate under test.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tested {
    /// Logarithm of the figure without the candidate less that with it, of every round.
    differences: Vec<f64>,
    /// First rounds, which had other candidates beside it.
    beside_others: usize,
    pub(super) p_value: f64,
}

impl Tested {
    /// Differences beside the present set.
    fn beside_present(&self) -> &[f64] {
        &self.differences[self.beside_others..]
    }

    /// Differences from which to estimate: beside the present set, or all if these are few.
    pub(super) fn of_present_set(&self) -> &[f64] {
        let present = self.beside_present();
        if present.len() >= ROUNDS_TO_DROP { present } else { &self.differences }
    }

    pub(super) fn evidence(&self) -> f64 {
        e_process::evidence(&self.differences).last().copied().unwrap_or(1.0)
    }

    pub(super) fn rounds(&self) -> usize {
        self.differences.len()
    }
}

/// State of the confirmation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Confirmation {
    risk: f64,
    least: f64,
    /// Chosen and not dropped.
    pub(super) set: Configuration,
    /// Members that the evidence shows to be needed.
    pub(super) confirmed: Configuration,
    pub(super) dropped: Configuration,
    pub(super) tested: BTreeMap<usize, Tested>,
    /// Logarithm of the figure without any candidate less that with the set, of each round.
    pub(super) total: Tested,
}

impl Confirmation {
    pub(super) fn new(set: Configuration, risk: f64, least: f64) -> Self {
        let fresh = Tested { differences: Vec::new(), beside_others: 0, p_value: 1.0 };
        let tested = set.candidates().map(|candidate| (candidate, fresh.clone())).collect();
        let (confirmed, dropped) = (Configuration::NONE, Configuration::NONE);
        Self { risk, least, set, confirmed, dropped, tested, total: fresh }
    }

    /// Members that are not decided.
    pub(super) fn undecided(&self) -> Configuration {
        self.set.minus(self.confirmed)
    }

    /// The configurations of the next round: the set, no candidate, and the set without each undecided member.
    pub(super) fn next(&self) -> Vec<Configuration> {
        let without = self.undecided().candidates().map(|member| self.set.without(member));
        let mut round: Vec<Configuration> = [self.set, Configuration::NONE].into_iter().chain(without).collect();
        round.sort_unstable();
        round.dedup();
        round
    }

    /// Adds a round, the logarithm of the figure by configuration, and decides on members.
    pub(super) fn push(&mut self, round: &BTreeMap<Configuration, f64>) {
        let Some(with_all) = round.get(&self.set) else { return };
        self.total.differences.extend(round.get(&Configuration::NONE).map(|without| without - with_all));
        for member in self.undecided().candidates() {
            let Some(without) = round.get(&self.set.without(member)) else { continue };
            let Some(tested) = self.tested.get_mut(&member) else { continue };
            tested.differences.push(without - with_all);
            tested.p_value = e_process::p_value(&tested.differences);
        }
        self.confirm();
        self.drop_one();
    }

    fn confirm(&mut self) {
        let p_values: Vec<f64> = self.tested.values().map(|tested| tested.p_value).collect();
        for ((member, tested), p) in self.tested.iter().zip(holm(&p_values)) {
            let helps = median(tested.of_present_set()) > 0.0;
            if p <= self.risk && helps && self.set.contains(*member) {
                self.confirmed = self.confirmed.with(*member);
            }
        }
    }

    /// Drops the undecided member with the smallest effect if that stays below the least effect of interest: only one,
    /// because two members may replace each other.
    fn drop_one(&mut self) {
        let upper = |member: usize| {
            let differences = self.tested[&member].beside_present();
            let enough = differences.len() >= ROUNDS_TO_DROP;
            enough.then(|| (median(differences), median(differences) + DROPPED * median_error(differences)))
        };
        let small = self.undecided().candidates().filter_map(|member| Some((member, upper(member)?)));
        let small = small.filter(|(_, (_, upper))| *upper < self.least);
        let Some((member, _)) = small.min_by(|(_, one), (_, other)| one.0.total_cmp(&other.0)) else { return };
        self.set = self.set.without(member);
        self.dropped = self.dropped.with(member);
        for tested in self.tested.values_mut().chain([&mut self.total]) {
            tested.beside_others = tested.differences.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::Coin;

    fn confirmed(effect: impl Fn(Configuration) -> f64, set: &[usize], rounds: usize) -> Confirmation {
        let mut coin = Coin::new(6);
        let mut confirmation = Confirmation::new(set.iter().copied().collect(), 0.05, 1.1f64.ln());
        for _ in 0..rounds {
            if confirmation.undecided().is_empty() {
                break;
            }
            let run = |configuration| (configuration, effect(configuration) + 0.1 * (coin.unit() - 0.5));
            let round = confirmation.next().into_iter().map(run).collect();
            confirmation.push(&round);
        }
        confirmation
    }

    #[test]
    fn needed_members_are_confirmed_and_useless_ones_dropped() {
        let effect = |on: Configuration| if on.contains(1) && on.contains(2) { -0.3 } else { 0.0 };
        let confirmation = confirmed(effect, &[1, 2, 7], 40);
        assert_eq!(
            (confirmation.confirmed, confirmation.dropped),
            ([1, 2].into_iter().collect(), [7].into_iter().collect())
        );
    }

    #[test]
    fn of_two_members_that_replace_each_other_one_stays() {
        let effect = |on: Configuration| if on.contains(1) || on.contains(2) { -0.3 } else { 0.0 };
        let confirmation = confirmed(effect, &[1, 2], 60);
        assert_eq!((confirmation.confirmed.len(), confirmation.dropped.len()), (1, 1));
    }

    #[test]
    fn few_rounds_decide_nothing() {
        let confirmation = confirmed(|on| if on.contains(1) { -0.3 } else { 0.0 }, &[1], 4);
        assert_eq!(confirmation.undecided(), [1].into_iter().collect());
    }
}
