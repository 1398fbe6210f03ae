//! The archives below a directory, each in a few figures.

use crate::archives::{has_rest, in_reach};
use account::{Account, ExplanationSource};
use archive::explanation::{Explanation, ExplanationStatus};
use archive::manifest::RunState;
use archive::reader::Run;
use archive::summary::CountedLimit;
use archive::watched::WatchSettings;
use clap::Args;
use report::conditions;
use serde::Serialize;
use std::path::Path;

/// Which runs are listed.
#[derive(Debug, Clone, Default, Args)]
pub struct FilterArguments {
    /// Only runs of this target
    #[arg(long, value_name = "NAME")]
    pub target: Option<String>,
    /// Only runs whose worst wake-up has this cause
    #[arg(long, value_name = "CULPRIT")]
    pub cause: Option<String>,
}

impl FilterArguments {
    fn passes(&self, run: &Listed) -> bool {
        let target = self.target.as_ref().is_none_or(|target| *target == run.target);
        target && self.cause.as_ref().is_none_or(|cause| Some(cause) == run.worst_cause.as_ref())
    }
}

/// The runs below a directory that pass the filter, oldest first.
pub fn listed_below(directory: &Path, filter: &FilterArguments) -> Vec<Listed> {
    let opened = in_reach(directory).into_iter().filter_map(|path| Run::open_without_seconds(path).ok());
    opened.map(listed).filter(|run| filter.passes(run)).collect()
}

#[derive(Debug, Serialize)]
pub struct Listed {
    pub id: String,
    pub archive: String,
    pub state: RunState,
    /// A process on this machine is writing it; without one, a run whose state is `running` was cut off.
    pub goes_on: bool,
    /// `tardy target collect` can look for the rest of it.
    pub collectable: bool,
    pub valid: bool,
    /// Conditions that were not as requested, for example for lack of privileges.
    pub degraded: bool,
    pub emulated: bool,
    pub virtual_time: bool,
    pub target: String,
    pub kernel: String,
    pub preemption: String,
    pub load: String,
    /// The method; absent for a timer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The watched program, threads or process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watched: Option<String>,
    pub interval_ns: Option<u64>,
    pub limit_ns: Option<i64>,
    pub over_limit: u64,
    /// Whether the run kept its limit.
    #[serde(skip)]
    pub limit: Option<CountedLimit>,
    pub started_unix_ns: Option<i64>,
    pub measured_ns: Option<i64>,
    /// `None` without samples, and of an invalid run.
    pub latency_ns_max: Option<i64>,
    /// The source may have cut off larger values.
    pub max_is_least: bool,
    pub spikes: usize,
    /// The cause of the largest spike; absent if it was not explained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst_cause: Option<String>,
    /// The tool that measured, if it was not tardy.
    pub imported: Option<String>,
}

fn listed(run: Run) -> Listed {
    let directory = run.directory.clone();
    let summary = Account::of(run, ExplanationSource::Stored).explained_summary();
    let worst = summary.worst_spike();
    Listed {
        collectable: !summary.goes_on && has_rest(&directory),
        degraded: conditions::reservations(&summary).is_some(),
        kernel: conditions::kernel(&summary),
        preemption: conditions::preemption(&summary).into(),
        load: conditions::load(&summary),
        method: conditions::method(&summary),
        watched: summary
            .settings
            .as_ref()
            .and_then(|settings| settings.watch.as_ref())
            .filter(|_| conditions::method(&summary).is_none())
            .map(WatchSettings::whom_in_short),
        interval_ns: summary.settings.as_ref().map(|settings| settings.interval_ns),
        limit_ns: summary.settings.as_ref().and_then(|settings| settings.limit_ns),
        over_limit: summary.limited_samples().0,
        limit: CountedLimit::of(&summary),
        latency_ns_max: summary.all_cpus.max.filter(|_| summary.valid),
        max_is_least: summary.imported.as_ref().is_some_and(|imported| imported.maximum_truncated),
        spikes: summary.late_spikes().count(),
        worst_cause: worst.and_then(|worst| cause(worst.explanation.as_ref()?)),
        id: summary.id,
        archive: summary.archive,
        state: summary.state,
        goes_on: summary.goes_on,
        valid: summary.valid,
        emulated: summary.emulated,
        virtual_time: summary.virtual_time,
        target: summary.target,
        started_unix_ns: summary.started_unix_ns,
        measured_ns: summary.measured_ns,
        imported: summary.imported.map(|imported| imported.tool),
    }
}

fn cause(explanation: &Explanation) -> Option<String> {
    match (explanation.status, explanation.findings.first()) {
        (ExplanationStatus::Explained, Some(finding)) => Some(finding.culprit.id().to_owned()),
        (ExplanationStatus::NotExplained, _) => Some("not explained".into()),
        _ => None,
    }
}
