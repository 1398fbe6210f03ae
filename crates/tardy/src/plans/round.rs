//! One round of a plan: each of its steps into a separate archive, and the outcome of all of them.

mod archived;
mod deployment;
mod file;
mod outcome;
mod page;
mod repeated;
mod role_outcome;
mod roles;
mod step_state;

pub use archived::archived;
pub use file::is_round;
pub use repeated::{Repetition, repeat};

use super::checked::{CheckedPlan, CheckedStep, Overrides, PlanHost};
use super::machine;
use crate::archives::{RUNS, new_below};
use crate::exit::{Exit, UsageError, in_words};
use crate::measuring::arguments::Showing;
use crate::measuring::rounds::Measuring;
use crate::terminal::json;
use crate::terminal::page::Page;
use account::{Account, ExplanationSource};
use file::{ROUND_VERSION, RoundFile};
use judge::step::StepVerdict;
use machines::board::AccessOptions;
use outcome::StepOutcome;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use step_state::StepState;
use words::printable::printable;

/// A plan in progress in its directory.
pub struct Round<'a> {
    directory: PathBuf,
    file: RoundFile,
    plan: CheckedPlan,
    /// How to access boards, without a deployment.
    access: AccessOptions,
    measuring: &'a Measuring,
    /// Why a step has no archive.
    failures: BTreeMap<u32, String>,
}

impl<'a> Round<'a> {
    /// Begins a round in an empty directory.
    ///
    /// # Errors
    /// If a target does not exist, or the directory cannot be written.
    pub fn begin(
        plan: CheckedPlan,
        overrides: Overrides,
        access: AccessOptions,
        directory: PathBuf,
        measuring: &'a Measuring,
    ) -> anyhow::Result<Self> {
        machine::check_targets(&plan.steps)?;
        let AccessOptions { deploy, .. } = access.clone();
        deployment::check(deploy.as_deref(), &plan)?;
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let file = RoundFile {
            round_version: ROUND_VERSION,
            plan: plan.plan.name.clone(),
            overrides,
            command: measuring.command.clone(),
            tool_version: env!("CARGO_PKG_VERSION").into(),
            started_unix_ns: i64::try_from(started.as_nanos()).unwrap_or(i64::MAX),
            packages: BTreeMap::new(),
            deploy,
            deployed: BTreeSet::new(),
        };
        file.begin(&directory, &plan)?;
        let access = AccessOptions { deploy: None, ..access };
        Ok(Self { directory, file, plan, access, measuring, failures: BTreeMap::new() })
    }

    /// Continues a round that was stopped or cut off. Finished steps are kept.
    ///
    /// # Errors
    /// A [`UsageError`] if the directory holds no round.
    pub fn resume(directory: PathBuf, access: AccessOptions, measuring: &'a Measuring) -> anyhow::Result<Self> {
        let (file, plan) = RoundFile::load(&directory, PlanHost::This)?;
        machine::check_targets(&plan.steps)?;
        Ok(Self { directory, file, plan, access, measuring, failures: BTreeMap::new() })
    }

    /// Runs every unfinished step, in order, until the user stops it. A failed step does not stop those after it.
    ///
    /// # Errors
    /// If the files of the round cannot be written.
    pub fn run(&mut self) -> anyhow::Result<()> {
        let steps = self.plan.steps.clone();
        let left_out = self.deploy()?;
        for step in &steps {
            if self.measuring.stopped() {
                break;
            }
            let outcome = StepOutcome::of(&self.plan, step, &self.directory, None);
            let of = format!("step {} of {}: {}", step.step.number, step.step.steps, step.step.title());
            if outcome.state == StepState::Done {
                self.measuring.report(&format!("{of} (done before)"));
                continue;
            }
            self.measuring.report(&of);
            let packages = self.file.packages.clone();
            // The board still has the old software.
            if let Some(why) = left_out.get(&step.step.target) {
                self.failures.insert(step.step.number, format!("not measured: {why}"));
                continue;
            }
            if let Err(error) = self.run_step(step)
                && !self.measuring.stopped()
            {
                self.measuring.report(&in_words(&error));
                self.failures.insert(step.step.number, in_words(&error));
            }
            // On a full disk the file keeps its previous contents, and the steps are in their archives.
            if self.file.packages != packages {
                self.file.save(&self.directory)?;
            }
        }
        Ok(())
    }

    fn run_step(&mut self, step: &CheckedStep) -> anyhow::Result<()> {
        let Measuring { meter, signals, .. } = self.measuring;
        let mut target = machine::open(step, &mut self.file.packages, self.access.clone(), meter, signals)?;
        let directory = outcome::next(step, &self.directory);
        let planned = Some(&step.planned);
        let run = match &step.stimulus {
            Some(stimulus) => self.run_roles(target.as_mut(), (step, stimulus), &directory)?,
            None => self.measuring.run_on(target.as_mut(), planned, step.settings.clone(), step.silence, &directory)?,
        };
        if !self.measuring.stopped() {
            let explained = Account::of(run, ExplanationSource::Traces).save_explanations();
            // Explanations can be repeated at any time.
            let _ = explained.inspect_err(|error| complain!("tardy: {}", printable(&error.to_string())));
        }
        Ok(())
    }

    /// Shows the outcome, and returns how the command ends.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub fn show(&self, showing: Showing) -> anyhow::Result<Exit> {
        let failure = |step: &CheckedStep| self.failures.get(&step.step.number).map(String::as_str);
        let outcome = |step: &CheckedStep| StepOutcome::of(&self.plan, step, &self.directory, failure(step));
        let outcomes: Vec<StepOutcome> = self.plan.steps.iter().map(outcome).collect();
        let verdict = StepVerdict::of_all(outcomes.iter().map(|outcome| outcome.verdict));
        if showing.json {
            let document = serde_json::json!({
                "round_version": ROUND_VERSION, "plan": self.plan.plan.name, "directory": self.directory,
                "verdict": verdict, "steps": outcomes,
            });
            json::print(&document)?;
        } else if showing.quiet {
            let mut page = Page::for_stdout();
            page.line(&self.directory.display().to_string());
            page.print()?;
        } else {
            page::lay_out(&self.plan, &self.directory, &outcomes, Page::for_stdout()).print()?;
        }
        if showing.json || showing.quiet {
            let problems = outcomes.iter().filter_map(|outcome| Some((outcome.step, outcome.problem.as_ref()?)));
            problems.for_each(|(step, text)| complain!("tardy: step {step}: {}", printable(text)));
        }
        Ok(exit_of(verdict))
    }
}

fn exit_of(verdict: StepVerdict) -> Exit {
    match verdict {
        StepVerdict::Pass | StepVerdict::Measured => Exit::Measured,
        StepVerdict::NotEnoughData => Exit::NotEnoughData,
        StepVerdict::NoVerdict | StepVerdict::Error => Exit::NotMeasured,
        StepVerdict::Fail => Exit::LimitExceeded,
    }
}

/// A new directory for a round: `out`, which must be empty, or `runs/<time>-<plan>`.
///
/// # Errors
/// If it cannot be created.
pub fn new_directory(out: Option<&Path>, plan: &str) -> anyhow::Result<PathBuf> {
    let Some(out) = out else { return new_round_below(Path::new(RUNS), plan) };
    if fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some()) {
        let text = format!("{} is not empty; choose another --out, or --resume {0}", out.display());
        return Err(UsageError(text).into());
    }
    fs::create_dir_all(out).map_err(|error| anyhow::anyhow!("failed to create {}: {error}", out.display()))?;
    Ok(out.to_owned())
}

fn new_round_below(directory: &Path, plan: &str) -> anyhow::Result<PathBuf> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(new_below(directory, now.as_secs(), plan)?.0)
}
