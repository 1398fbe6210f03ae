//! Rounds of runs in a random order, independent of what the runs differ in: order, attempts, void rounds,
//! interruptions.

mod journal;
mod measuring;
mod stored;
pub mod versus;

pub use journal::{Journal, Question, new_directory, now};
pub use measuring::{Measuring, system_seed};
pub use stored::{Measurable, StoredSeries};

use judge::coin::Coin;
use judge::experiment::void_rounds_max;
use serde::{Deserialize, Serialize};

/// How far a series got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoundsState {
    /// In progress, or killed while in progress.
    Running,
    Complete,
    /// Ended early; `--resume` continues it.
    Interrupted,
    /// Several consecutive rounds failed; `problem` says why.
    Failed,
}

/// One run of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantRun {
    pub variant: String,
    /// Directory of the archive, next to the file that holds this.
    pub archive: String,
}

/// One attempt at a round. A round with a failed run is void as a whole and repeated in a new random order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Counts from 1; the order follows from it and the seed.
    pub number: u32,
    /// The random order of the variants.
    pub order: Vec<String>,
    pub runs: Vec<VariantRun>,
    /// Why the attempt does not count.
    pub void: Option<String>,
    /// The variant whose run failed; `None` if none did, or the series was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

impl Attempt {
    fn has_all_runs(&self) -> bool {
        self.runs.len() == self.order.len()
    }
}

/// A series of rounds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rounds {
    pub state: RoundsState,
    pub problem: Option<String>,
    pub seed: u64,
    pub rounds_asked: u32,
    /// The variants, if every round has the same ones.
    pub variants: Vec<String>,
    pub attempts: Vec<Attempt>,
}

/// Result of one run: the inner error says why it cannot be used.
pub type RunResult = anyhow::Result<Result<(), String>>;

/// Needs of a series from the code that measures it.
pub trait Series {
    fn rounds(&mut self) -> &mut Rounds;
    /// Stores the series as it is.
    fn save(&mut self) -> anyhow::Result<()>;
    /// Runs a variant into the directory `archive` next to the series' file; `round` counts from 1.
    fn run(&mut self, variant: &str, archive: &str, round: u32) -> RunResult;
    /// Whether the user requested a stop.
    fn stopped(&self) -> bool;
    /// Whether the complete rounds decide the question, so that no further round is needed.
    fn decided(&mut self) -> bool {
        false
    }
    /// The variants of the next round, which runs each of them once.
    fn next_variants(&mut self) -> Vec<String> {
        self.rounds().variants.clone()
    }
}

/// Measures until the rounds are complete or decide the question, the user stops the series, or the rounds keep
/// failing.
///
/// # Errors
/// If no archive can be created, or the series cannot be stored.
pub fn measure(series: &mut dyn Series) -> anyhow::Result<()> {
    let rounds = series.rounds();
    (rounds.state, rounds.problem) = (RoundsState::Running, None);
    rounds.void_what_was_cut_off();
    let begun_at = rounds.attempts.len();
    loop {
        if series.stopped() {
            series.rounds().state = RoundsState::Interrupted;
        } else {
            series.rounds().look_ahead(begun_at);
            if series.rounds().state == RoundsState::Running && series.decided() {
                series.rounds().state = RoundsState::Complete;
            }
        }
        if series.rounds().state != RoundsState::Running {
            return series.save();
        }
        one_round(series)?;
    }
}

fn one_round(series: &mut dyn Series) -> anyhow::Result<()> {
    let mut order = series.next_variants();
    let rounds = series.rounds();
    let round = rounds.complete().count() as u32 + 1;
    let number = rounds.attempts.len() as u32 + 1;
    Coin::of_round(rounds.seed, number).shuffle(&mut order);
    rounds.attempts.push(Attempt { number, order: order.clone(), runs: Vec::new(), void: None, failed: None });
    series.save()?;
    for variant in order {
        let archive = format!("{number:02}-{variant}");
        let mut outcome = series.run(&variant, &archive, round)?;
        let stopped = series.stopped();
        if stopped {
            outcome = Err("stopped".into());
        }
        let attempt = series.rounds().attempts.last_mut().expect("it was just pushed");
        attempt.failed = outcome.is_err().then(|| variant.clone()).filter(|_| !stopped);
        attempt.runs.push(VariantRun { variant, archive });
        attempt.void = outcome.err();
        let void = attempt.void.is_some();
        series.save()?;
        if void {
            break;
        }
    }
    Ok(())
}

impl Rounds {
    pub fn new(seed: u64, rounds_asked: u32, variants: Vec<String>) -> Self {
        Self { state: RoundsState::Running, problem: None, seed, rounds_asked, variants, attempts: Vec::new() }
    }

    /// Attempts that count.
    pub fn complete(&self) -> impl Iterator<Item = &Attempt> {
        self.attempts.iter().filter(|attempt| attempt.void.is_none() && attempt.has_all_runs())
    }

    /// Number of attempts that do not count, and the reason for the last of them.
    pub fn voids(&self) -> (usize, Option<&str>) {
        let reasons = || self.attempts.iter().filter_map(|attempt| attempt.void.as_deref());
        (reasons().count(), reasons().next_back())
    }

    /// Attempts that a failed run of this variant made void.
    pub fn failures_of(&self, variant: &str) -> u32 {
        self.attempts.iter().filter(|attempt| attempt.failed.as_deref() == Some(variant)).count() as u32
    }

    /// Whether every archive is a plain name next to the file: the file may be untrusted.
    pub fn names_only_its_own(&self) -> bool {
        let plain = |name: &str| !name.is_empty() && !name.starts_with('.') && !name.contains('/');
        self.attempts.iter().flat_map(|attempt| &attempt.runs).all(|run| plain(&run.archive))
    }

    fn void_what_was_cut_off(&mut self) {
        for attempt in self.attempts.iter_mut().filter(|attempt| attempt.void.is_none() && !attempt.has_all_runs()) {
            attempt.void = Some("the series was cut off in it".into());
        }
    }

    /// Ends the series if it is complete, or if several consecutive rounds failed since it was started or resumed.
    fn look_ahead(&mut self, begun_at: usize) {
        if self.complete().count() as u32 >= self.rounds_asked {
            self.state = RoundsState::Complete;
            return;
        }
        let fresh = &self.attempts[begun_at..];
        let most = void_rounds_max(self.complete().count());
        if fresh.iter().rev().take_while(|attempt| attempt.void.is_some()).count() >= most {
            let why = fresh.last().and_then(|attempt| attempt.void.clone()).unwrap_or_default();
            let last = &fresh[fresh.len() - most..];
            let always =
                last[0].failed.as_ref().filter(|first| last.iter().all(|one| one.failed.as_ref() == Some(first)));
            let by = always.map_or(String::new(), |variant| format!(", each in a run of {}", variant.to_uppercase()));
            let problem = format!("{most} rounds in a row failed{by}; the last one: {why}");
            (self.state, self.problem) = (RoundsState::Failed, Some(problem));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A series whose runs fail at the given positions, counted from 0.
    struct Invented {
        rounds: Rounds,
        failing: Vec<usize>,
        stopping: usize,
        runs: usize,
    }

    impl Series for Invented {
        fn rounds(&mut self) -> &mut Rounds {
            &mut self.rounds
        }

        fn save(&mut self) -> anyhow::Result<()> {
            Ok(())
        }

        fn run(&mut self, _: &str, _: &str, _: u32) -> RunResult {
            self.runs += 1;
            Ok(if self.failing.contains(&(self.runs - 1)) { Err("it broke".into()) } else { Ok(()) })
        }

        fn stopped(&self) -> bool {
            self.runs >= self.stopping
        }
    }

    fn series(rounds: u32, failing: &[usize], stopping: usize) -> Invented {
        let rounds = Rounds::new(7, rounds, vec!["a".into(), "b".into()]);
        Invented { rounds, failing: failing.to_vec(), stopping, runs: 0 }
    }

    #[test]
    fn a_failed_run_voids_its_round_and_only_that() {
        let mut series = series(3, &[1, 2], 100);
        measure(&mut series).unwrap();
        assert_eq!((series.rounds.state, series.rounds.complete().count()), (RoundsState::Complete, 3));
        assert_eq!(series.rounds.voids(), (2, Some("it broke")));
        assert_eq!(series.rounds.failures_of("a") + series.rounds.failures_of("b"), 2);
        assert_eq!(series.runs, 9, "nothing is run in a void round");
    }

    #[test]
    fn three_in_a_row_end_it_and_a_new_start_tries_again() {
        let mut series = series(3, &[0, 1, 2, 3, 4], 100);
        measure(&mut series).unwrap();
        assert_eq!((series.rounds.state, series.runs), (RoundsState::Failed, 3));
        measure(&mut series).unwrap();
        assert_eq!((series.rounds.state, series.rounds.problem.clone()), (RoundsState::Complete, None));
    }

    #[test]
    fn runs_that_fail_after_a_complete_round_may_fail_by_chance() {
        let mut some = series(3, &[2, 3, 4, 5, 6], 100);
        measure(&mut some).unwrap();
        assert_eq!((some.rounds.state, some.rounds.complete().count()), (RoundsState::Complete, 3));
        let mut all = series(3, &[2, 3, 4, 5, 6, 7, 8], 100);
        measure(&mut all).unwrap();
        assert_eq!((all.rounds.state, all.runs), (RoundsState::Failed, 8));
        assert!(all.rounds.problem.as_ref().is_some_and(|why| why.starts_with("6 rounds ")));
    }

    #[test]
    fn what_was_stopped_goes_on_with_its_coin() {
        let mut whole = series(4, &[], 100);
        measure(&mut whole).unwrap();
        let mut cut = series(4, &[], 3);
        measure(&mut cut).unwrap();
        assert_eq!((cut.rounds.state, cut.rounds.complete().count()), (RoundsState::Interrupted, 1));
        assert_eq!(cut.rounds.voids(), (1, Some("stopped")));
        assert_eq!(cut.rounds.failures_of("a") + cut.rounds.failures_of("b"), 0, "the user stopped it");
        cut.stopping = 100;
        measure(&mut cut).unwrap();
        assert_eq!(cut.rounds.complete().count(), 4);
        let orders = |rounds: &Rounds| rounds.attempts.iter().map(|attempt| attempt.order.clone()).collect::<Vec<_>>();
        assert_eq!(orders(&cut.rounds)[..4], orders(&whole.rounds)[..]);
    }

    #[test]
    fn archives_elsewhere_are_not_believed() {
        let mut series = series(1, &[], 100);
        measure(&mut series).unwrap();
        assert!(series.rounds.names_only_its_own());
        for name in ["../x", "/etc", "", ".hidden", "a/b"] {
            series.rounds.attempts[0].runs[0].archive = name.into();
            assert!(!series.rounds.names_only_its_own(), "{name}");
        }
    }
}
