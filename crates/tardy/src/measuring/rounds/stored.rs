//! A series in its directory: measures the missing rounds, stores every step, and answers its question.

use super::{Journal, Measuring, Question, Rounds, RoundsState, RunResult, Series, measure};
use crate::exit::UsageError;
use crate::measuring::signals::Signals;
use machines::meter_places::MeterPlaces;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A question that rounds of runs answer.
pub trait Measurable: Question {
    /// The targets that its runs need.
    type Machines;

    /// The targets that it names.
    ///
    /// # Errors
    /// If one does not exist, or its file cannot be used.
    fn machines(&self) -> Result<Self::Machines, UsageError>;

    /// Called before the rounds; false if there is nothing to measure, and the series says why.
    ///
    /// # Errors
    /// If no archive can be created, or the series cannot be stored.
    fn prepare(_: &mut StoredSeries<Self>) -> anyhow::Result<bool> {
        Ok(true)
    }

    /// As [`Series::run`].
    ///
    /// # Errors
    /// If no archive can be created.
    fn run(series: &mut StoredSeries<Self>, variant: &str, archive: &str, round: u32) -> RunResult;

    /// As [`Series::next_variants`].
    fn next_variants(series: &mut StoredSeries<Self>) -> Vec<String> {
        series.journal.rounds.variants.clone()
    }

    /// As [`Series::decided`].
    fn decided(_: &StoredSeries<Self>) -> bool {
        false
    }

    /// The answer of the complete rounds.
    fn answer(series: &StoredSeries<Self>) -> Option<Self::Answer>;
}

/// A series of rounds in its directory.
pub struct StoredSeries<Q: Measurable> {
    pub directory: PathBuf,
    pub journal: Journal<Q>,
    pub machines: Q::Machines,
    pub measuring: Measuring,
}

impl<Q: Measurable> Series for StoredSeries<Q> {
    fn rounds(&mut self) -> &mut Rounds {
        &mut self.journal.rounds
    }

    fn save(&mut self) -> anyhow::Result<()> {
        self.journal.save(&self.directory)
    }

    fn run(&mut self, variant: &str, archive: &str, round: u32) -> RunResult {
        Q::run(self, variant, archive, round)
    }

    fn next_variants(&mut self) -> Vec<String> {
        Q::next_variants(self)
    }

    fn stopped(&self) -> bool {
        self.measuring.stopped()
    }

    fn decided(&mut self) -> bool {
        Q::decided(self)
    }
}

impl<Q: Measurable> StoredSeries<Q> {
    /// Measures the missing rounds until the series ends, and stores the answer. A complete series stays as it is.
    /// `machines`: those that the command line named; without them, those that the journal names. `silence`: the longest
    /// time that a meter may send nothing.
    ///
    /// # Errors
    /// If there is no such target or no meter, no archive can be created, or the series cannot be stored.
    pub fn complete(
        directory: &Path,
        journal: Journal<Q>,
        machines: Option<Q::Machines>,
        silence: Duration,
        quiet: bool,
    ) -> anyhow::Result<Journal<Q>> {
        if journal.rounds.state == RoundsState::Complete {
            return Ok(journal);
        }
        let machines = match machines {
            Some(machines) => machines,
            None => journal.question.machines()?,
        };
        let measuring = Measuring {
            meter: MeterPlaces::of_process().find()?,
            signals: Signals::watch()?,
            silence,
            quiet,
            command: journal.command.clone(),
        };
        let mut series = Self { directory: directory.to_owned(), journal, machines, measuring };
        let ended = Q::prepare(&mut series).and_then(|ready| if ready { measure(&mut series) } else { Ok(()) });
        series.measuring.signals.measuring_is_over();
        ended?;
        series.store_answer()?;
        Ok(series.journal)
    }

    /// Answers from the complete rounds.
    ///
    /// # Errors
    /// If the series cannot be stored.
    pub fn store_answer(&mut self) -> anyhow::Result<()> {
        self.journal.result = Q::answer(self);
        self.journal.save(&self.directory)
    }
}
