//! The runs of an experiment: each variant with its settings, explained, and the result of the complete rounds.

use super::question::{Journal, Versus};
use crate::exit::UsageError;
use crate::measuring::machine::find;
use crate::measuring::rounds::{Attempt, Measurable, RoundsState, RunResult, StoredSeries};
use account::{Account, ExplanationSource};
use archive::problem::Remark;
use judge::experiment::{ExperimentResult, Failed, Outcome, PairedRound, Stopping, VariantFigures, experiment};
use machines::KnownTarget;
use std::process::{Command, Stdio};

pub type Experiment = StoredSeries<Versus>;

impl Measurable for Versus {
    /// Options of A and B.
    type Machines = [KnownTarget; 2];

    fn machines(&self) -> Result<Self::Machines, UsageError> {
        Ok([find(&self.a.target)?, find(&self.b.target)?])
    }

    fn run(series: &mut Experiment, variant: &str, archive: &str, round: u32) -> RunResult {
        let journal = &mut series.journal;
        let asked = journal.rounds.rounds_asked;
        series.measuring.report(&format!("round {round} of {asked}: {}", variant.to_uppercase()));
        let Versus { a, b, .. } = &journal.question;
        let [of_a, of_b] = &series.machines;
        let (variant, target) = if variant == "a" { (a, of_a) } else { (b, of_b) };
        if let Some(Err(why)) = variant.before.as_deref().map(prepare) {
            return Ok(Err(why));
        }
        let target = variant.target_after_command(target)?;
        let run = series.measuring.run(&target, variant.settings.clone(), &series.directory.join(archive))?;
        let account = Account::of(run, ExplanationSource::Traces);
        let summary = account.summary();
        journal.emulated |= summary.emulated;
        journal.virtual_time |= summary.virtual_time;
        if !summary.valid {
            return Ok(Err(Remark::joined(&summary.invalid_because)));
        }
        if !series.measuring.stopped() {
            account.save_explanations()?;
        }
        Ok(Ok(()))
    }

    fn decided(series: &Experiment) -> bool {
        let decided = |result: ExperimentResult| matches!(result.outcome, Outcome::Worse | Outcome::Better);
        series.journal.question.until_decided
            && series.journal.rounds.state == RoundsState::Running
            && Self::answer(series).is_some_and(decided)
    }

    fn answer(series: &Experiment) -> Option<ExperimentResult> {
        let figures = |attempt: &Attempt, variant: &str| -> Option<VariantFigures> {
            let run = attempt.runs.iter().find(|run| run.variant == variant)?;
            let archive = series.directory.join(&run.archive);
            Account::open(archive, ExplanationSource::Stored).ok()?.variant_figures()
        };
        let round = |attempt: &Attempt| {
            let b_first = attempt.order.first().map(|variant| variant == "b");
            Some(PairedRound { a: figures(attempt, "a")?, b: figures(attempt, "b")?, b_first })
        };
        let Journal { rounds, question, confidence, .. } = &series.journal;
        let paired: Vec<PairedRound> = rounds.complete().filter_map(round).collect();
        let stopping = if question.until_decided { Stopping::UntilDecided } else { Stopping::FixedRounds };
        let failed = Failed { a: rounds.failures_of("a"), b: rounds.failures_of("b") };
        experiment(&paired, failed, &question.metrics, *confidence, stopping)
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
