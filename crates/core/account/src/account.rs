//! Answers about one archive, each computed once.

use crate::block_requests::block_requests;
use crate::chains::followed;
use crate::explaining::Circumstances;
use crate::planned::{ALLOW_DEFAULT, CONFIDENCE_DEFAULT, accepted, confidence_of, limits, limits_of};
use crate::stored_file::StoredFiles;
use archive::causes::RunCauses;
use archive::chain::ChainAccount;
use archive::explanation::Explanation;
use archive::method::SampleWord;
use archive::reader::{OpenError, Run};
use archive::spike::Spike;
use archive::storage::StorageAccount;
use archive::summary::{ReportData, RunSummary};
use archive::write_error::WriteError;
use claims::limit::{Limit, Rate};
use explain::scheduling_bound::Interference;
use explain::{Source, Stretch};
use judge::experiment::{VariantFigures, variant_figures};
use judge::history::{HistoryFigures, HistoryRun};
use judge::machine::DoubtKind;
use judge::step::StepVerdict;
use judge::verdict::{Judgement, judge};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Where the explanations of an account come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplanationSource {
    /// The traces, whatever is stored: this program may know more causes than the one that stored explanations.
    Traces,
    /// The explanations stored beside the run; the traces if there are none, without the files of programs that they name: the run may
    /// come from elsewhere.
    StoredOrTraces,
    /// The explanations stored beside the run; none if there are none.
    Stored,
}

/// An opened archive and what follows from it. Threads may share it.
#[derive(Debug)]
pub struct Account {
    run: Run,
    source: ExplanationSource,
    circumstances: OnceLock<Circumstances>,
    summary: OnceLock<RunSummary>,
    explanations: OnceLock<Vec<Explanation>>,
    /// Position of the explanation of each spike.
    explained: OnceLock<BTreeMap<u32, usize>>,
    causes: OnceLock<RunCauses>,
    block_requests: OnceLock<Option<StorageAccount>>,
    chains: OnceLock<Vec<ChainAccount>>,
}

impl Account {
    /// Opens the archive in a directory.
    ///
    /// # Errors
    /// If there is no archive.
    pub fn open(directory: impl Into<PathBuf>, source: ExplanationSource) -> Result<Self, OpenError> {
        Ok(Self::of(Run::open(directory)?, source))
    }

    /// The account of an opened run.
    pub fn of(run: Run, source: ExplanationSource) -> Self {
        Self {
            run,
            source,
            circumstances: OnceLock::new(),
            summary: OnceLock::new(),
            explanations: OnceLock::new(),
            explained: OnceLock::new(),
            causes: OnceLock::new(),
            block_requests: OnceLock::new(),
            chains: OnceLock::new(),
        }
    }

    pub fn run(&self) -> &Run {
        &self.run
    }

    pub fn into_run(self) -> Run {
        self.run
    }

    /// The figures, without explanations beside the spikes.
    pub fn summary(&self) -> &RunSummary {
        self.summary.get_or_init(|| RunSummary::of(&self.run, &[]))
    }

    pub fn into_summary(self) -> RunSummary {
        self.summary.into_inner().unwrap_or_else(|| RunSummary::of(&self.run, &[]))
    }

    /// One explanation for each spike of the run, by number.
    pub fn explanations(&self) -> &[Explanation] {
        self.explain(&mut |_, _| {})
    }

    /// The explanations; while they are made, calls `progress` with the number of explained spikes and their total.
    pub fn explain(&self, progress: &mut dyn FnMut(usize, usize)) -> &[Explanation] {
        self.explanations.get_or_init(|| {
            let stored = match self.source {
                ExplanationSource::Traces => None,
                ExplanationSource::StoredOrTraces => self.run.explanations(),
                ExplanationSource::Stored => Some(self.run.explanations().unwrap_or_default()),
            };
            let files = || {
                let files = match self.source {
                    ExplanationSource::Traces => StoredFiles::default(),
                    ExplanationSource::StoredOrTraces | ExplanationSource::Stored => StoredFiles::none(),
                };
                files.and_of_archive(&self.run.directory)
            };
            stored.unwrap_or_else(|| self.circumstances().explain_all(&self.run, files(), progress))
        })
    }

    /// Stores the explanations beside the run.
    ///
    /// # Errors
    /// [`WriteError::Io`].
    pub fn save_explanations(&self) -> Result<(), WriteError> {
        self.run.save_explanations(self.explanations())
    }

    pub fn explanation_of(&self, spike: u32) -> Option<&Explanation> {
        let explanations = self.explanations();
        let numbered = || explanations.iter().enumerate().rev();
        // The first explanation of a spike counts.
        let by_spike = self.explained.get_or_init(|| numbered().map(|(at, one)| (one.spike, at)).collect());
        by_spike.get(&spike).map(|at| &explanations[*at])
    }

    /// A copy of the figures with the explanations beside the spikes.
    pub fn explained_summary(&self) -> RunSummary {
        self.summary().clone().explained(self.explanations())
    }

    /// Common causes of the spikes.
    pub fn causes(&self) -> &RunCauses {
        self.causes.get_or_init(|| self.circumstances().causes(&self.run, self.explanations()))
    }

    /// Where the time of block requests went; `None` if the run recorded none.
    pub fn block_requests(&self) -> Option<&StorageAccount> {
        self.block_requests.get_or_init(|| block_requests(&self.run, self.summary())).as_ref()
    }

    /// The chains that the watch followed, in the traces that it kept.
    pub fn chains(&self) -> &[ChainAccount] {
        self.chains.get_or_init(|| followed(&self.run))
    }

    /// Everything that a page or a document shows of the run.
    pub fn report_data(&self) -> ReportData {
        let summary = RunSummary {
            storage: self.block_requests().cloned(),
            chains: self.chains().to_vec(),
            ..self.explained_summary()
        };
        ReportData { causes: Some(self.causes().clone()), ..ReportData::with(&self.run, summary) }
    }

    /// The verdict on each of the limits. `accepted` lists the doubts about the machine that do not prevent a pass.
    pub fn judge(&self, limits: &[Limit], confidence: f64, accepted: &[DoubtKind]) -> Vec<Judgement> {
        limits.iter().map(|limit| judge(&self.run, self.summary(), limit, confidence, accepted)).collect()
    }

    /// The verdict on each limit of the run: of its plan, or the one that it was measured with. Empty while it goes on.
    pub fn limit_judgements(&self) -> Vec<Judgement> {
        let allow = Rate::parse(ALLOW_DEFAULT).expect("the default is a rate");
        let limits = if self.summary().goes_on { Vec::new() } else { limits_of(&self.run, &allow) };
        let planned = self.run.planned.as_ref();
        let confidence = planned.map_or(CONFIDENCE_DEFAULT, confidence_of);
        self.judge(&limits, confidence, &planned.map(accepted).unwrap_or_default())
    }

    /// The verdict by the limits of the run's plan.
    pub fn verdict(&self) -> StepVerdict {
        let judgements = self
            .run
            .planned
            .as_ref()
            .map(|planned| self.judge(&limits(&planned.limits), confidence_of(planned), &accepted(planned)));
        StepVerdict::of(self.summary().valid, &judgements.unwrap_or_default())
    }

    /// The figures that a history compares; `None` if the run is invalid or has no samples.
    pub fn history_figures(&self) -> Option<HistoryFigures> {
        HistoryFigures::of(&self.run, self.summary())
    }

    /// The run in a history; `None` if it is invalid or has no samples.
    pub fn into_history(self) -> Option<HistoryRun> {
        let summary = self.summary.into_inner().unwrap_or_else(|| RunSummary::of(&self.run, &[]));
        HistoryRun::of(&self.run, summary)
    }

    /// The figures that an experiment compares; `None` if the run has no samples.
    pub fn variant_figures(&self) -> Option<VariantFigures> {
        variant_figures(&self.run, self.explanations())
    }

    /// The word for a sample of the run.
    pub fn sample_word(&self) -> SampleWord {
        self.circumstances().sample
    }

    /// The lines of the trace around one spike; empty without a trace.
    pub fn events(&self, spike: &Spike) -> Vec<String> {
        self.circumstances().events(&self.run, spike)
    }

    /// The ledger of one spike by stretches; empty without a trace.
    pub fn stretches(&self, spike: &Spike, trace: Source<'_>) -> Vec<Stretch> {
        self.circumstances().stretches(&self.run, spike, trace)
    }

    /// Interrupt times observed around the late wake-ups, by CPU. CPUs without a trace are missing.
    pub fn interference(&self) -> BTreeMap<u32, Interference> {
        self.circumstances().interference(&self.run)
    }

    fn circumstances(&self) -> &Circumstances {
        self.circumstances.get_or_init(|| Circumstances::of(&self.run))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::explanation::ExplanationStatus;
    use synthetic_run::SyntheticRun;
    use tempfile::TempDir;

    fn written() -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        let spikes = vec![(90_000, Some("softirq".to_owned())), (80_000, None)];
        SyntheticRun { spikes, ..SyntheticRun::of("pi", "6.1.0", 1) }.write(folder.path());
        folder
    }

    fn statuses(folder: &TempDir, source: ExplanationSource) -> Vec<ExplanationStatus> {
        let account = Account::open(folder.path(), source).unwrap();
        account.explanations().iter().map(|explanation| explanation.status).collect()
    }

    #[test]
    fn each_answer_is_computed_once() {
        let folder = written();
        let account = Account::open(folder.path(), ExplanationSource::StoredOrTraces).unwrap();
        let first = (account.summary(), account.explanations(), account.causes());
        // Nothing is left to compute it from.
        std::fs::remove_dir_all(folder.path()).unwrap();
        assert!(std::ptr::eq(first.0, account.summary()));
        assert!(std::ptr::eq(first.1, account.explanations()));
        assert!(std::ptr::eq(first.2, account.causes()));
        let mut explained = 0;
        account.explain(&mut |_, _| explained += 1);
        assert_eq!((explained, account.explanations().len()), (0, 2));
    }

    #[test]
    fn stored_explanations_are_used_where_they_are_asked_for() {
        use ExplanationStatus::{Explained, NoTrace};
        let folder = written();
        let stored = statuses(&folder, ExplanationSource::Stored);
        assert_eq!(stored[0], Explained);
        assert_eq!(statuses(&folder, ExplanationSource::StoredOrTraces), stored);
        assert_eq!(statuses(&folder, ExplanationSource::Traces), [NoTrace, NoTrace]);
        std::fs::remove_file(folder.path().join("explanations.json")).unwrap();
        assert_eq!(statuses(&folder, ExplanationSource::Stored), []);
        assert_eq!(statuses(&folder, ExplanationSource::StoredOrTraces), [NoTrace, NoTrace]);
    }

    #[test]
    fn the_first_explanation_of_a_spike_counts() {
        let folder = written();
        let run = Run::open(folder.path()).unwrap();
        let mut stored = run.explanations().unwrap();
        let mut other = stored[0].clone();
        other.status = ExplanationStatus::NoTrace;
        stored.push(other);
        run.save_explanations(&stored).unwrap();
        let account = Account::of(run, ExplanationSource::Stored);
        let first = account.explanation_of(stored[0].spike).unwrap();
        assert_eq!(first, &stored[0]);
        let beside = account.explained_summary().spikes;
        let beside = beside.iter().find(|entry| entry.spike.number == stored[0].spike).unwrap();
        assert_eq!(beside.explanation.as_ref(), Some(first));
        assert_eq!(account.explanation_of(99), None);
    }
}
