//! Chains of threads with a deadline: what the meter follows, and the account of a missed deadline.

use super::config::GuardConfig;
use super::entry::{ChainAccount, LateStage};
use crate::chained;
use crate::exit::UsageError;
use account::brief::short::Short;
use account::chains::recorded_around;
use archive::chain::{ChainFinding, ChainInstance, Segment};
use archive::reader::Run;
use archive::watched::chain::MissedChain;
use chains::declaration::{Chain, ChainFile};
use chains::recorded::EVENTS_MAX;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The chains of a configuration.
#[derive(Debug, Clone)]
pub struct GuardedChains {
    path: PathBuf,
    pub file: ChainFile,
}

/// An account with the finding that its sentence is about.
pub struct ExplainedChain {
    pub account: ChainAccount,
    pub finding: Option<ChainFinding>,
    pub stages: usize,
}

impl GuardedChains {
    /// Reads the file that the configuration names; its path starts in `folder`.
    ///
    /// # Errors
    /// A file that cannot be read, or chains that cannot be followed.
    pub fn read(config: &GuardConfig, folder: &Path) -> Result<Option<Self>, UsageError> {
        let Some(path) = &config.watch.chains else { return Ok(None) };
        let path = folder.join(path);
        let file = chained::declared(&path)?;
        let follow = |chain: &Chain| chain.followed().map(drop);
        file.chain.iter().try_for_each(follow).map_err(|why| UsageError(format!("{}: {why}", path.display())))?;
        Ok(Some(Self { path, file }))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The account of a missed deadline, by the code that explains chains in recordings.
    pub fn account(&self, run: &Run, spike: u32, missed: &MissedChain) -> ExplainedChain {
        let chain = self.file.chain.iter().find(|chain| chain.name == missed.name);
        let kept = run.spikes.iter().find(|kept| kept.number == spike);
        let found = chain.zip(kept).and_then(|(chain, kept)| {
            let recorded = recorded_around(run, kept, &self.file.events(), EVENTS_MAX);
            let found = chains::account(&[recorded], chain, usize::MAX);
            let near = |stimulus_ns: i64| (stimulus_ns - missed.stimulus_ns).abs();
            let instance = found.instances.into_iter().min_by_key(|instance| near(instance.stimulus_ns))?;
            let finding = found.findings.into_iter().find(|finding| finding.stimulus_ns == instance.stimulus_ns);
            let is_it = instance.stimulus_ns <= missed.end_ns && instance.end_ns >= missed.stimulus_ns;
            is_it.then_some((instance, finding))
        });
        let (instance, finding) = found.map_or((None, None), |(instance, finding)| (Some(instance), finding));
        let late_stage = finding.as_ref().map(|finding| late_stage(finding, instance.as_ref()));
        let account = ChainAccount {
            archive: Short::text(&run.directory.display().to_string()),
            spike,
            chain: Short::name(&missed.name),
            latency_ns: missed.latency_ns(),
            deadline_ns: missed.deadline_ns,
            is_open: missed.is_open,
            instances: missed.instances,
            missed: missed.missed,
            late_stage,
        };
        ExplainedChain { account, finding, stages: chain.map_or(0, |chain| chain.stages.len()) }
    }
}

fn late_stage(finding: &ChainFinding, instance: Option<&ChainInstance>) -> LateStage {
    let mut ledger = BTreeMap::new();
    for segment in instance.map_or(&[] as &[Segment], |instance| &instance.segments) {
        *ledger.entry(segment.share()).or_default() += segment.ns();
    }
    LateStage {
        stage: finding.stage + 1,
        thread: finding.thread.clone(),
        stage_ns: finding.stage_ns,
        ordinary_ns: finding.ordinary_ns,
        culprit: finding.culprit.clone(),
        cause_ns: finding.cause_ns,
        cause: Some(finding.cause.clone()),
        ledger,
    }
}
