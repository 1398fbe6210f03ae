//! Which of many settings help: screening of all at once, then proof on fresh runs for those that seem to.
//!
//! [Screening](screening) estimates every candidate from every run; [confirmation] tests the chosen ones with one left
//! out at a time, under one error for all; [together] finds members that help only beside another. The next runs follow
//! from the seed and the measured values alone, so an interrupted series continues where it ended.

mod configuration;
mod confirmation;
mod goal;
mod regression;
mod result;
mod screening;
mod together;

pub use configuration::{CANDIDATES_MAX, Configuration, ConfigurationError};
pub use goal::{Goal, UnknownGoal};
pub use result::{Member, TuneResult, TuneState, Undecided, Useless};
pub use together::Pair;

use crate::coin::Coin;
use crate::e_process;
use crate::median::median;
use crate::multiplicity::holm;
use crate::observer::Estimate;
use crate::sign_flip::Interval;
use confirmation::{Confirmation, Tested};
use screening::Screening;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use together::Together;

/// Largest share of the runs for screening.
const SCREENING_SHARE: f64 = 0.6;

/// The question, fixed before the first run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// At most [`CANDIDATES_MAX`].
    pub candidates: usize,
    /// Candidates that an explained spike names: they are tested on weaker signs.
    pub named: Configuration,
    /// Least effect of interest, as a ratio of the figure above 1.
    pub least: f64,
    /// One for all claims, in 0 .. 1.
    pub confidence: f64,
    /// Runs that the budget is expected to have room for; a part of them screens.
    pub runs_max: u32,
    pub seed: u64,
}

#[derive(Debug, Clone, PartialEq)]
enum Phase {
    Screening,
    Confirming(Confirmation),
    Pairing(Confirmation, Together),
    Ended(Option<Confirmation>, Together),
}

/// A series of runs and its decisions.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuner {
    question: Question,
    screening: Screening,
    phase: Phase,
    blocks: u32,
    runs: u32,
    /// Runs that the budget has room for, as far as is known.
    room: u32,
}

impl Tuner {
    pub fn new(question: Question) -> Self {
        let screening = Screening::new(question.candidates, question.named, question.least.ln());
        let phase = if screening.open.is_empty() {
            Phase::Ended(None, question.together(Configuration::NONE))
        } else {
            Phase::Screening
        };
        Self { question, screening, phase, blocks: 0, runs: 0, room: question.runs_max }
    }

    /// The same series with room for another number of runs than was expected; what follows from the measured runs stays.
    pub fn with_room(self, runs: u32) -> Self {
        Self { room: runs, ..self }
    }

    /// The configurations to measure next, in an order that the caller's coin decides; `None` at the end.
    pub fn next(&self) -> Option<Vec<Configuration>> {
        let block = self.block();
        let fits = self.runs + block.len() as u32 <= self.room;
        (fits && !block.is_empty()).then_some(block)
    }

    fn block(&self) -> Vec<Configuration> {
        match &self.phase {
            Phase::Screening => self.screening.next(&mut Coin::of_round(self.question.seed, self.blocks)).to_vec(),
            Phase::Confirming(confirmation) => confirmation.next(),
            Phase::Pairing(_, together) => together.next(),
            Phase::Ended(..) => Vec::new(),
        }
    }

    /// Adds a measured block: the natural logarithm of the figure of each of its runs, in any order.
    pub fn push(&mut self, block: &[(Configuration, f64)]) {
        self.blocks += 1;
        self.runs += block.len() as u32;
        let values: BTreeMap<Configuration, f64> = block.iter().copied().collect();
        match &mut self.phase {
            Phase::Screening => {
                if let [(first, one), (second, other)] = *block {
                    self.screening.push([first, second], [one, other]);
                }
            }
            Phase::Confirming(confirmation) => confirmation.push(&values),
            Phase::Pairing(_, together) => together.push(&values),
            Phase::Ended(..) => {}
        }
        self.advance();
    }

    fn advance(&mut self) {
        let question = self.question;
        if self.phase == Phase::Screening {
            let spent = f64::from(self.runs) >= SCREENING_SHARE * f64::from(question.runs_max);
            if !self.screening.open.is_empty() && !spent {
                return;
            }
            self.phase = Phase::Confirming(Confirmation::new(self.screening.on, question.risk(), question.least.ln()));
        }
        if let Phase::Confirming(confirmation) = &self.phase
            && confirmation.undecided().is_empty()
        {
            let together = question.together(confirmation.confirmed);
            self.phase = Phase::Pairing(confirmation.clone(), together);
        }
        if let Phase::Pairing(confirmation, together) = &self.phase
            && together.next().is_empty()
        {
            self.phase = Phase::Ended(Some(confirmation.clone()), together.clone());
        }
    }

    pub fn runs(&self) -> u32 {
        self.runs
    }

    /// The result so far.
    pub fn result(&self) -> TuneResult {
        let fresh;
        let (confirmation, pairs) = match &self.phase {
            Phase::Screening => {
                fresh = Confirmation::new(self.screening.on, self.question.risk(), self.question.least.ln());
                (&fresh, Vec::new())
            }
            Phase::Confirming(confirmation) => (confirmation, Vec::new()),
            Phase::Pairing(confirmation, together) | Phase::Ended(Some(confirmation), together) => {
                (confirmation, together.pairs())
            }
            Phase::Ended(None, _) => {
                fresh = Confirmation::new(Configuration::NONE, self.question.risk(), self.question.least.ln());
                (&fresh, Vec::new())
            }
        };
        let undecided = self.undecided(confirmation);
        TuneResult {
            state: self.state(undecided.is_empty()),
            runs: self.runs,
            confidence: self.question.confidence,
            least: self.question.least,
            members: self.members(confirmation),
            total: ratio_of(confirmation.total.of_present_set(), self.question.confidence),
            pairs,
            useless: self.useless(confirmation),
            undecided,
        }
    }

    fn state(&self, all_decided: bool) -> TuneState {
        let can_go_on = self.next().is_some();
        match &self.phase {
            Phase::Screening if can_go_on => TuneState::Screening,
            Phase::Confirming(_) if can_go_on => TuneState::Confirming,
            Phase::Pairing(..) if can_go_on => TuneState::Pairing,
            _ if all_decided => TuneState::Decided,
            _ => TuneState::OutOfRuns,
        }
    }

    fn members(&self, confirmation: &Confirmation) -> Vec<Member> {
        let adjusted = holm(&confirmation.tested.values().map(|tested| tested.p_value).collect::<Vec<_>>());
        let tested = confirmation.tested.iter().zip(adjusted);
        let confirmed = tested.filter(|((candidate, _), _)| confirmation.confirmed.contains(**candidate));
        let member = |((candidate, tested), p_value): ((&usize, &Tested), f64)| {
            let effect = ratio_of(tested.of_present_set(), self.question.confidence)?;
            Some(Member { candidate: *candidate, effect, p_value })
        };
        let mut members: Vec<Member> = confirmed.filter_map(member).collect();
        members.sort_by(|one, other| other.effect.value.total_cmp(&one.effect.value));
        members
    }

    fn useless(&self, confirmation: &Confirmation) -> Vec<Useless> {
        let screened = (0..self.question.candidates)
            .filter(|candidate| !self.screening.open.contains(*candidate) && !self.screening.on.contains(*candidate));
        let screened = screened.map(|candidate| Useless {
            candidate,
            effect: self.screening.effects[candidate].map_or(1.0, |effect| (-effect.value).exp()),
            was_tested: false,
        });
        let dropped = confirmation.dropped.candidates().map(|candidate| Useless {
            candidate,
            effect: median(confirmation.tested[&candidate].of_present_set()).exp(),
            was_tested: true,
        });
        screened.chain(dropped).collect()
    }

    fn undecided(&self, confirmation: &Confirmation) -> Vec<Undecided> {
        let screened = self.screening.open.candidates().map(|candidate| Undecided {
            candidate,
            effect: self.screening.effects[candidate].map(|effect| (-effect.value).exp()),
            rounds_more: None,
        });
        let tests = confirmation.tested.len() as f64;
        let tested = confirmation.undecided().candidates().map(|candidate| {
            let tested = &confirmation.tested[&candidate];
            // Evidence grows by a factor for each round.
            let wanted = (tests / self.question.risk()).ln();
            let grown = tested.evidence().ln();
            let more = f64::from(tested.rounds() as u32) * (wanted / grown - 1.0);
            Undecided {
                candidate,
                effect: (tested.rounds() > 0).then(|| median(tested.of_present_set()).exp()),
                rounds_more: (grown > 0.0 && more.is_finite() && more < 1e6).then(|| more.ceil().max(1.0) as u32),
            }
        });
        screened.chain(tested).collect()
    }
}

impl Question {
    fn risk(&self) -> f64 {
        1.0 - self.confidence
    }

    fn together(&self, set: Configuration) -> Together {
        Together::new(set, self.risk(), self.least.ln())
    }
}

/// The median; `None` for an empty list.
pub fn median_of(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| median(values))
}

/// Ratio from the logarithms of paired ratios, with an interval that holds after any round; `None` for an empty list.
pub fn ratio_of(logarithms: &[f64], confidence: f64) -> Option<Estimate> {
    let interval = e_process::interval(logarithms, confidence);
    let ends = interval.map(|ends| Interval { low: ends.low.exp(), high: ends.high.exp(), ..ends });
    Some(Estimate { value: median_of(logarithms)?.exp(), interval: ends })
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUESTION: Question =
        Question { candidates: 10, named: Configuration::NONE, least: 1.1, confidence: 0.95, runs_max: 400, seed: 3 };

    fn effect(on: Configuration) -> f64 {
        let alone = if on.contains(2) { -0.4 } else { 0.0 };
        alone + if on.contains(2) && on.contains(5) { -0.4 } else { 0.0 } + if on.contains(8) { 0.3 } else { 0.0 }
    }

    /// Measures until the end, or until there are `blocks` of them.
    fn measured(tuner: &mut Tuner, scatter: f64, blocks: u32) {
        while tuner.blocks < blocks {
            let Some(next) = tuner.next() else { return };
            let mut coin = Coin::of_round(99, tuner.blocks);
            let run = |configuration| (configuration, 10.0 + effect(configuration) + scatter * (coin.unit() - 0.5));
            tuner.push(&next.into_iter().map(run).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_minimal_set_is_found_with_its_effects_and_its_pair() {
        let mut tuner = Tuner::new(QUESTION);
        measured(&mut tuner, 0.1, u32::MAX);
        let result = tuner.result();
        assert_eq!((result.state, result.undecided.len()), (TuneState::Decided, 0));
        assert_eq!(result.members.iter().map(|member| member.candidate).collect::<Vec<_>>(), [2, 5]);
        assert!((result.total.as_ref().unwrap().value.ln() - 0.8).abs() < 0.1, "{result:?}");
        assert!(result.members.iter().all(|member| member.effect.interval.is_some_and(|ends| ends.low > 1.0)));
        assert_eq!(
            result.pairs.iter().map(|pair| (pair.members, pair.needs_the_other)).collect::<Vec<_>>(),
            [([2, 5], [false, true])]
        );
        let harmful = result.useless.iter().find(|useless| useless.candidate == 8).unwrap();
        assert!(harmful.effect < 0.9, "{harmful:?}");
    }

    #[test]
    fn a_series_that_was_cut_continues_alike() {
        let mut whole = Tuner::new(QUESTION);
        measured(&mut whole, 0.1, u32::MAX);
        let mut cut = Tuner::new(QUESTION);
        measured(&mut cut, 0.1, 20);
        let mut continued = cut.clone();
        measured(&mut continued, 0.1, u32::MAX);
        assert_eq!(continued.result(), whole.result());
    }

    #[test]
    fn a_budget_that_ends_leaves_candidates_undecided() {
        let mut tuner = Tuner::new(Question { runs_max: 20, ..QUESTION });
        measured(&mut tuner, 0.1, u32::MAX);
        let result = tuner.result();
        assert_eq!((result.state, result.members.len(), tuner.next()), (TuneState::OutOfRuns, 0, None));
        assert_eq!(result.undecided.len() + result.useless.len(), 10);
    }

    #[test]
    fn runs_of_another_length_than_expected_change_the_room() {
        let none = Tuner::new(Question { runs_max: 1, ..QUESTION });
        assert_eq!((none.next(), Tuner::new(QUESTION).with_room(1).next()), (None, None));
        assert!(none.with_room(40).next().is_some());
    }

    #[test]
    fn no_candidate_ends_at_once() {
        let tuner = Tuner::new(Question { candidates: 0, ..QUESTION });
        assert_eq!((tuner.next(), tuner.result().state), (None, TuneState::Decided));
    }
}
