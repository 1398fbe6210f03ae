//! The outcome of a step according to its archive.

use crate::plans::checked::{CheckedPlan, CheckedStep};
use crate::plans::problem::StepProblem;
use crate::plans::round::role_outcome::RoleOutcome;
use crate::plans::round::step_state::StepState;
use account::{Account, ExplanationSource};
use archive::problem::Remark;
use archive::reader::Run;
use judge::step::StepVerdict;
use judge::verdict::Judgement;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A step and its newest archive.
#[derive(Debug, Clone, Serialize)]
pub struct StepOutcome {
    pub step: u32,
    pub title: String,
    pub target: String,
    pub kernel: Option<String>,
    pub load: String,
    pub variant: Option<String>,
    pub repetition: u32,
    pub state: StepState,
    pub verdict: StepVerdict,
    /// Why there is nothing to judge.
    pub problem: Option<String>,
    pub archive: Option<PathBuf>,
    pub emulated: bool,
    pub virtual_time: bool,
    pub cycles: u64,
    pub missed: u64,
    pub spikes: u64,
    pub p99_ns: Option<i64>,
    pub max_ns: Option<i64>,
    pub judgements: Vec<Judgement>,
    /// The machine that gave the stimuli, if it was another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stimulus: Option<RoleOutcome>,
}

impl StepOutcome {
    /// The outcome of a step in a round's directory. `failure`: why it left no archive, if this process knows.
    pub fn of(plan: &CheckedPlan, checked: &CheckedStep, directory: &Path, failure: Option<&str>) -> Self {
        let step = &checked.step;
        let none = Self {
            step: step.number,
            title: step.title(),
            target: step.target.clone(),
            kernel: checked.planned.kernel.clone(),
            load: step.load.name.clone(),
            variant: step.variant.clone(),
            repetition: step.repetition,
            state: if failure.is_some() { StepState::Failed } else { StepState::NotRun },
            verdict: StepVerdict::Error,
            problem: failure.map(str::to_owned),
            archive: None,
            emulated: false,
            virtual_time: false,
            cycles: 0,
            missed: 0,
            spikes: 0,
            p99_ns: None,
            max_ns: None,
            judgements: Vec::new(),
            stimulus: None,
        };
        if failure.is_some() {
            return none;
        }
        match newest(checked, directory).and_then(|path| Run::open(path).ok()) {
            Some(run) => none.with(plan, checked, &Account::of(run, ExplanationSource::Stored)),
            None => none,
        }
    }

    fn with(self, plan: &CheckedPlan, checked: &CheckedStep, account: &Account) -> Self {
        let (run, summary) = (account.run(), account.summary());
        let stimulus = checked.stimulus.as_ref().map(|role| RoleOutcome::of(plan, role, &run.directory));
        let own_state = StepState::of(summary);
        let other = stimulus.as_ref().filter(|other| other.state != StepState::Done);
        let state = match (own_state, other) {
            (StepState::Done, Some(other)) => other.state,
            _ => own_state,
        };
        let judgements = account.judge(&checked.limits, plan.confidence, &plan.accepted);
        let problem = match state {
            StepState::Done | StepState::NotRun => None,
            StepState::Stopped => Some(StepProblem::Stopped.to_string()),
            StepState::Failed if own_state != StepState::Failed => other.and_then(|other| other.problem.clone()),
            StepState::Failed => {
                let problem = run.manifest.as_ref().and_then(|manifest| Some(manifest.problem.as_ref()?.text.clone()));
                Some(problem.unwrap_or_else(|| Remark::joined(&summary.invalid_because)))
            }
        };
        let of_stimulus = stimulus.iter().flat_map(|other| &other.judgements);
        let all: Vec<Judgement> = judgements.iter().chain(of_stimulus).cloned().collect();
        Self {
            verdict: StepVerdict::of(state == StepState::Done, &all),
            stimulus,
            state,
            problem,
            archive: Some(run.directory.clone()),
            emulated: summary.emulated,
            virtual_time: summary.virtual_time,
            cycles: summary.cpus.iter().map(|cpu| cpu.cycles).sum(),
            missed: summary.cpus.iter().filter_map(|cpu| cpu.missed).sum(),
            spikes: summary.late_spikes().count() as u64,
            p99_ns: summary.all_cpus.p99,
            max_ns: summary.all_cpus.max,
            judgements,
            ..self
        }
    }

    /// The verdict in one word.
    pub fn word(&self) -> &'static str {
        match self.state {
            StepState::NotRun => "not run",
            StepState::Stopped => "stopped",
            StepState::Done | StepState::Failed => self.verdict.words(),
        }
    }
}

/// Directory of each attempt at a step, in order; an infinite sequence.
fn attempts<'a>(checked: &'a CheckedStep, directory: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
    (1..).map(|attempt| directory.join(checked.step.directory(attempt)))
}

/// The archive of the last attempt at a step.
pub fn newest(checked: &CheckedStep, directory: &Path) -> Option<PathBuf> {
    attempts(checked, directory).take_while(|path| path.exists()).last()
}

/// Directory for the next attempt at a step: no measurement is overwritten.
pub fn next(checked: &CheckedStep, directory: &Path) -> PathBuf {
    attempts(checked, directory).find(|path| !path.exists()).expect("numbers do not end")
}
