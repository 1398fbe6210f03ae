//! Input of an export: runs, the options of the format, and the limits that judge the runs.

use super::{ExportError, Options};
use crate::results::{RunResults, gather, make_names_distinct};
use account::Account;
use archive::damage::Damage;
use archive::manifest::RunState;
use archive::problem::{ProblemKind, Remark};
use archive::reader::Run;
use archive::summary::RunSummary;
use judge::verdict::Judgement;

/// A run, alone or as a step of a round.
#[derive(Debug)]
pub struct ExportedRun {
    account: Account,
    /// Says whether the run may be used; without explanations.
    summary: RunSummary,
    /// The round of a plan that it is a step of.
    round: Option<usize>,
}

impl ExportedRun {
    /// A run that is no step of an exported round. Without an end it is useless to a test system, even if its beginning is sound.
    pub fn alone(account: Account) -> Self {
        let mut summary = account.summary().clone();
        if summary.state == RunState::Running {
            let (damage, text) = match summary.goes_on {
                true => (Damage::GoesOn, "the run is still active"),
                false => (Damage::CutOff, "the run was cut off before its end"),
            };
            summary.invalid_because.push(Remark { code: damage.code(), text: text.into() });
            summary.valid = false;
        }
        Self { account, summary, round: None }
    }

    /// A step of the round with this number; steps of one round follow each other.
    pub fn step(account: Account, summary: RunSummary, round: usize) -> Self {
        Self { account, summary, round: Some(round) }
    }
}

/// Judges a run by the limits of the command line, or by its own.
pub type Judge<'a> = &'a dyn Fn(&Account) -> Result<Vec<Judgement>, ExportError>;

/// Everything that a format may use.
pub struct ExportInput<'a> {
    first: &'a ExportedRun,
    all: &'a [ExportedRun],
    pub options: &'a Options,
    judge: Judge<'a>,
}

impl<'a> ExportInput<'a> {
    /// `None` without runs.
    pub fn new(all: &'a [ExportedRun], options: &'a Options, judge: Judge<'a>) -> Option<Self> {
        Some(Self { first: all.first()?, all, options, judge })
    }

    /// The account of the run of a format that holds one.
    pub fn account(&self) -> &'a Account {
        &self.first.account
    }

    /// The run of a format that holds one.
    pub fn run(&self) -> &'a Run {
        self.first.account.run()
    }

    /// The accounts of all runs in order.
    pub fn accounts(&self) -> impl Iterator<Item = &'a Account> + use<'a> {
        self.all.iter().map(|exported| &exported.account)
    }

    /// All runs in order.
    pub fn runs(&self) -> impl Iterator<Item = &'a Run> + use<'a> {
        self.accounts().map(Account::run)
    }

    /// All runs, explained and judged, with distinct names; the steps of a round in one suite.
    ///
    /// # Errors
    /// [`ExportError::Limit`].
    pub fn results(&self) -> Result<Vec<RunResults>, ExportError> {
        let (mut results, mut suites) = (Vec::new(), Vec::new());
        for exported in self.all.chunk_by(|one, next| one.round.is_some() && one.round == next.round) {
            let mut of_source = exported.iter().map(|one| self.judged(one)).collect::<Result<Vec<_>, _>>()?;
            if let [ExportedRun { account, round: Some(_), .. }, ..] = exported {
                gather(&mut of_source, account.run().planned.as_ref().map_or("", |planned| &planned.plan), &suites);
                suites.extend(of_source.first().map(|step| step.suite.clone()));
            }
            results.extend(of_source);
        }
        make_names_distinct(&mut results);
        Ok(results)
    }

    fn judged(&self, exported: &ExportedRun) -> Result<RunResults, ExportError> {
        let account = &exported.account;
        let judgements = (self.judge)(account)?;
        let RunSummary { id, target, valid, invalid_because, .. } = exported.summary.clone();
        let summary = RunSummary { id, target, valid, invalid_because, ..account.explained_summary() };
        Ok(RunResults::of(summary, account.run().planned.as_ref(), judgements))
    }
}
