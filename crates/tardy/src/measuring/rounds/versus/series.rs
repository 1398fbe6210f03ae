//! The runs of an experiment: each variant with its settings, explained, and the result of the complete rounds.

use super::question::Journal;
use crate::archives::explaining::explain_run;
use crate::measuring::rounds::{Attempt, Measuring, Rounds, RoundsState, RunResult, Series};
use crate::measuring::variant::Variant;
use archive::problem::Remark;
use archive::reader::Run;
use archive::summary::RunSummary;
use judge::experiment::{
    ExperimentResult, Outcome, PairedRound, Stopping, VariantFigures, experiment, variant_figures,
};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A series of rounds in its directory.
pub struct Experiment {
    pub directory: PathBuf,
    pub journal: Journal,
    pub measuring: Measuring,
}

impl Series for Experiment {
    fn rounds(&mut self) -> &mut Rounds {
        &mut self.journal.rounds
    }

    fn save(&mut self) -> anyhow::Result<()> {
        self.journal.save(&self.directory)
    }

    fn run(&mut self, variant: &str, archive: &str, round: u32) -> RunResult {
        let asked = self.journal.rounds.rounds_asked;
        self.measuring.report(&format!("round {round} of {asked}: {}", variant.to_uppercase()));
        let Variant { before, target, settings, .. } =
            if variant == "a" { self.journal.question.a.clone() } else { self.journal.question.b.clone() };
        if let Some(Err(why)) = before.as_deref().map(prepare) {
            return Ok(Err(why));
        }
        let run = self.measuring.run(&target, settings, &self.directory.join(archive))?;
        let summary = RunSummary::of(&run, &[]);
        self.journal.emulated |= summary.emulated;
        self.journal.virtual_time |= summary.virtual_time;
        if !summary.valid {
            return Ok(Err(Remark::joined(&summary.invalid_because)));
        }
        if !self.measuring.stopped() {
            run.save_explanations(&explain_run(&run, &mut |_, _| {}))?;
        }
        Ok(Ok(()))
    }

    fn stopped(&self) -> bool {
        self.measuring.stopped()
    }

    fn decided(&mut self) -> bool {
        let decided = |result: ExperimentResult| matches!(result.outcome, Outcome::Worse | Outcome::Better);
        self.journal.question.until_decided
            && self.journal.rounds.state == RoundsState::Running
            && self.result().is_some_and(decided)
    }
}

impl Experiment {
    /// The result of the complete rounds.
    pub fn result(&self) -> Option<ExperimentResult> {
        let figures = |attempt: &Attempt, variant: &str| -> Option<VariantFigures> {
            let run = attempt.runs.iter().find(|run| run.variant == variant)?;
            let run = Run::open(self.directory.join(&run.archive)).ok()?;
            variant_figures(&run, &run.explanations().unwrap_or_default())
        };
        let round = |attempt: &Attempt| Some(PairedRound { a: figures(attempt, "a")?, b: figures(attempt, "b")? });
        let rounds: Vec<PairedRound> = self.journal.rounds.complete().filter_map(round).collect();
        let stopping = if self.journal.question.until_decided { Stopping::UntilDecided } else { Stopping::FixedRounds };
        experiment(&rounds, &self.journal.question.metrics, self.journal.confidence, stopping)
    }
}

/// Runs a command of the user; its error becomes the reason of the attempt unchanged. Its output goes to standard
/// error, because standard output is for the result.
fn prepare(command: &str) -> Result<(), String> {
    let status =
        Command::new("sh").args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::from(std::io::stderr())).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{command}` ended with {status}")),
        Err(error) => Err(format!("`{command}` could not be started: {error}")),
    }
}
