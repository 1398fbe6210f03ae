//! The outcome of the machine that gave the stimuli of a step, according to its archive.

use super::step_state::StepState;
use crate::plans::checked::{CheckedPlan, CheckedRole};
use account::{Account, ExplanationSource};
use archive::loss::LossKind;
use archive::problem::Remark;
use archive::roles::RunRole;
use judge::verdict::Judgement;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Figures of another machine of a step.
#[derive(Debug, Clone, Serialize)]
pub struct RoleOutcome {
    pub role: RunRole,
    pub target: String,
    pub state: StepState,
    pub problem: Option<String>,
    pub archive: Option<PathBuf>,
    pub cycles: u64,
    pub unanswered: u64,
    pub p99_ns: Option<i64>,
    pub max_ns: Option<i64>,
    pub judgements: Vec<Judgement>,
}

impl RoleOutcome {
    /// The outcome of the stimulus machine, whose archive is inside that of the target.
    pub fn of(plan: &CheckedPlan, checked: &CheckedRole, archive_of_target: &Path) -> Self {
        let role = RunRole::Stimulus;
        let prefixed = |text: String| Some(format!("the {role} machine ({}): {text}", checked.machine));
        let none = Self {
            role,
            target: checked.machine.clone(),
            state: StepState::NotRun,
            problem: prefixed("it has no archive".into()),
            archive: None,
            cycles: 0,
            unanswered: 0,
            p99_ns: None,
            max_ns: None,
            judgements: Vec::new(),
        };
        let opened = Account::open(archive_of_target.join(role.directory()), ExplanationSource::Stored);
        let Ok(account) = opened else { return none };
        let summary = account.summary();
        let state = StepState::of(summary);
        let failed = || prefixed(Remark::joined(&summary.invalid_because));
        let lost = summary.losses.iter().filter(|loss| loss.kind == LossKind::Answers).map(|loss| loss.count);
        Self {
            state,
            problem: if state == StepState::Failed { failed() } else { None },
            cycles: summary.cpus.iter().map(|cpu| cpu.cycles).sum(),
            unanswered: lost.fold(0, u64::saturating_add),
            p99_ns: summary.all_cpus.p99,
            max_ns: summary.all_cpus.max,
            judgements: account.judge(&checked.limits, plan.confidence, &plan.accepted),
            archive: Some(account.run().directory.clone()),
            ..none
        }
    }
}
