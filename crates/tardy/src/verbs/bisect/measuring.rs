//! One step: the measurement of a candidate, and its result.

use super::candidate::{Candidate, Unprepared};
use crate::exit::UsageError;
use crate::measuring::rounds::versus::{Experiment, Journal, Versus};
use crate::measuring::rounds::{Measuring, Question, Rounds, measure, now, system_seed};
use crate::options::limits::LimitArguments;
use crate::virtual_time::seed_runs::{OpenedRun, all_seed_runs};
use account::{Account, ExplanationSource};
use anyhow::anyhow;
use archive::manifest::RunState;
use archive::problem::Remark;
use archive::reader::Run;
use archive::settings::RunSettings;
use claims::limit::Limit;
use judge::bisect::{StepVerdict, of_experiment, of_verdict, rounds_least};
use judge::experiment::metrics;
use judge::virtual_time::judge_limit;
use machines::{KnownTarget, TargetError};
use runner::run::RunError;
use std::fs;
use std::path::Path;

/// How a step is measured and judged.
pub struct Steps<'a> {
    pub limits: &'a LimitArguments,
    pub seeds: u32,
    pub rounds: u32,
    /// Confidence of each step that is not in virtual time.
    pub confidence: f64,
}

/// Result of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub verdict: StepVerdict,
    /// The evidence.
    pub sentence: String,
    /// Lower bound of the factor by which an experiment shows the candidate to be worse.
    pub worse_at_least: Option<f64>,
}

impl Step {
    fn untestable(sentence: String) -> Self {
        Self { verdict: StepVerdict::Untestable, sentence, worse_at_least: None }
    }
}

impl Steps<'_> {
    /// Measures a candidate into a directory that does not exist yet. `good` and `worse_at_least` are for experiments.
    ///
    /// # Errors
    /// If the search cannot continue.
    pub fn measure(
        &self,
        measuring: &Measuring,
        candidate: &Candidate,
        good: Option<&Candidate>,
        worse_at_least: Option<f64>,
        directory: &Path,
    ) -> anyhow::Result<Step> {
        let typed = self.limits.of(&Run::default())?;
        let limited = !typed.is_empty() || candidate.variant.settings.limit_ns.is_some();
        if !limited
            && !candidate.in_virtual_time()
            && let Some(good) = good
        {
            return self.experiment(measuring, candidate, good, worse_at_least, directory);
        }
        let target = match candidate.prepare() {
            Ok(target) => target,
            Err(Unprepared::Untestable(why)) => return Ok(Step::untestable(why)),
            Err(Unprepared::GiveUp(why)) => return Err(anyhow!(why)),
        };
        let settings = &candidate.variant.settings;
        if candidate.in_virtual_time() {
            return self.seeds(measuring, &target, settings, directory);
        }
        let run = match run_once(measuring, &target, settings, directory)? {
            Ok(run) => run,
            Err(why) => return Ok(Step::untestable(why)),
        };
        let limits = self.limits.of(&run)?;
        let accepted = self.limits.accepted_of(&run);
        let judgements = Account::of(run, ExplanationSource::Stored).judge(&limits, self.confidence, &accepted);
        let worst = judgements.iter().max_by_key(|judgement| judgement.verdict);
        Ok(worst.map_or(Step::untestable("no limit was given".into()), |worst| Step {
            verdict: of_verdict(worst.verdict),
            sentence: worst.sentence.clone(),
            worse_at_least: None,
        }))
    }

    /// The limits hold for every seed, or are broken by the first seed that shows it.
    fn seeds(
        &self,
        measuring: &Measuring,
        target: &KnownTarget,
        settings: &RunSettings,
        directory: &Path,
    ) -> anyhow::Result<Step> {
        fs::create_dir_all(directory).map_err(|error| anyhow!("failed to create {}: {error}", directory.display()))?;
        let first = settings.dither_seed.unwrap_or_default();
        let mut opened = Vec::new();
        let mut limits: Vec<Limit> = Vec::new();
        let mut sentences = Vec::new();
        for seed in (first..).take(self.seeds as usize) {
            let settings = RunSettings { dither_seed: Some(seed), ..settings.clone() };
            let run = match run_once(measuring, target, &settings, &directory.join(format!("seed-{seed:04}")))? {
                Ok(run) => run,
                Err(why) => return Ok(Step::untestable(format!("seed {seed}: {why}"))),
            };
            limits = self.limits.of(&run)?;
            opened.push(OpenedRun::of(run)?);
            let runs = all_seed_runs(&opened);
            let outcomes: Vec<_> = limits.iter().map(|limit| judge_limit(limit, &runs)).collect();
            if let Some(broken) = outcomes.iter().find(|outcome| !outcome.holds) {
                return Ok(Step { verdict: StepVerdict::Bad, sentence: broken.sentence.clone(), worse_at_least: None });
            }
            sentences = outcomes.into_iter().map(|outcome| outcome.sentence).collect();
        }
        if limits.is_empty() {
            return Ok(Step::untestable("no limit was given".into()));
        }
        Ok(Step { verdict: StepVerdict::Good, sentence: sentences.join("; "), worse_at_least: None })
    }

    fn experiment(
        &self,
        measuring: &Measuring,
        candidate: &Candidate,
        good: &Candidate,
        worse_at_least: Option<f64>,
        directory: &Path,
    ) -> anyhow::Result<Step> {
        let started = now();
        fs::create_dir_all(directory).map_err(|error| anyhow!("failed to create {}: {error}", directory.display()))?;
        let (a, b) = (good.variant.clone(), candidate.variant.clone());
        let metrics = metrics(a.samples().min(b.samples()));
        let versus = Versus { experiment_version: Versus::VERSION, name: None, a, b, until_decided: false, metrics };
        let rounds = Rounds::new(system_seed(started), self.rounds, vec!["a".into(), "b".into()]);
        let journal = Journal::new(versus, rounds, self.confidence, measuring.command.clone(), started);
        let machines = [good.target.clone(), candidate.target.clone()];
        let mut experiment =
            Experiment { directory: directory.to_owned(), journal, machines, measuring: measuring.clone() };
        measure(&mut experiment)?;
        experiment.store_answer()?;
        let problem = experiment.journal.rounds.problem.clone();
        let Some(result) = &experiment.journal.result else {
            return Ok(Step::untestable(problem.unwrap_or_else(|| "no round is complete".into())));
        };
        let (verdict, sentence) = of_experiment(result, worse_at_least);
        let low = result.primary.ratio.as_ref().and_then(|ratio| ratio.interval).map(|interval| interval.low);
        Ok(Step { verdict, sentence, worse_at_least: low.filter(|low| *low > 1.0) })
    }
}

/// Rejects experiments that have too few rounds to decide anything.
///
/// # Errors
/// A [`UsageError`] with the required number of rounds.
pub fn enough_rounds(rounds: u32, confidence: f64) -> Result<(), UsageError> {
    let needed = rounds_least(confidence);
    if rounds >= needed {
        return Ok(());
    }
    let percent = 100.0 * confidence;
    Err(UsageError(format!("each step needs a confidence of {percent:.3} %, which takes --rounds {needed} or more")))
}

/// One run; the inner error says why the candidate cannot be tested: it did not boot, died, or is invalid.
fn run_once(
    measuring: &Measuring,
    target: &KnownTarget,
    settings: &RunSettings,
    directory: &Path,
) -> anyhow::Result<Result<Run, String>> {
    let run = match measuring.run(target, settings.clone(), directory) {
        Ok(run) => run,
        Err(error) => {
            let boots = matches!(error.downcast_ref(), Some(RunError::Target(TargetError::Boot { .. })));
            return if boots { Ok(Err(error.to_string())) } else { Err(error) };
        }
    };
    let manifest = run.manifest.as_ref();
    let state = manifest.map_or(RunState::Failed, |manifest| manifest.state);
    let summary = archive::summary::RunSummary::of(&run, &[]);
    if state != RunState::Complete {
        let why = manifest.and_then(|manifest| Some(manifest.problem.as_ref()?.text.clone()));
        return Ok(Err(why.unwrap_or_else(|| "the run did not end".into())));
    }
    if !summary.valid {
        return Ok(Err(Remark::joined(&summary.invalid_because)));
    }
    Ok(Ok(run))
}
