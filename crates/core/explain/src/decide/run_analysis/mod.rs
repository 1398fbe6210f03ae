//! Spikes of a run together: groups by culprit, their rhythm, and the chance of unseen causes.

mod composed;
mod group;
mod period;
mod unseen;

use archive::causes::RunCauses;
use archive::culprit::Culprit;
use archive::explanation::{Explanation, ExplanationStatus};
use archive::method::SampleWord;
use archive::sample::Sample;
use archive::spike::{Spike, SpikeReason};

/// Maximum number of worst samples that are used.
const WORST_MAX: usize = 1000;

/// The data of a run about its spikes.
#[derive(Debug, Clone, Copy)]
pub struct SpikesOfRun<'a> {
    pub spikes: &'a [Spike],
    /// In any order; those of control samples are ignored here.
    pub explanations: &'a [Explanation],
    /// The worst samples of all threads, in any order; each with the number of its thread.
    pub worst: &'a [(u32, Sample)],
    /// Interval between two wake-ups of a thread, in ns: shorter periods cannot be distinguished.
    pub interval_ns: u64,
    /// Ticks per second of the kernel, if known.
    pub tick_hz: Option<u32>,
    /// The word for a sample of the run.
    pub word: SampleWord,
}

/// A spike with its findings.
#[derive(Debug, Clone, Copy)]
struct ExplainedSpike<'a> {
    spike: &'a Spike,
    explanation: &'a Explanation,
}

impl ExplainedSpike<'_> {
    /// Whether there is something to explain and something to explain it from: the first new maxima of a thread are
    /// often no later than the eventual median.
    fn is_late(&self) -> bool {
        match self.explanation.status {
            ExplanationStatus::NoTrace => false,
            ExplanationStatus::Explained => !self.explanation.findings.is_empty(),
            ExplanationStatus::NotExplained => true,
        }
    }

    /// The culprit that explains it; `None` if nothing does.
    fn culprit(&self) -> Option<&Culprit> {
        let explained = self.explanation.status == ExplanationStatus::Explained;
        self.explanation.findings.first().filter(|_| explained).map(|finding| &finding.culprit)
    }
}

/// Analyses the spikes of a run. Empty if no spike has an explanation.
pub fn analyse(run: &SpikesOfRun) -> RunCauses {
    let explained: Vec<ExplainedSpike> = run
        .spikes
        .iter()
        .filter(|spike| spike.reason != SpikeReason::Control)
        .filter_map(|spike| {
            let explanation = run.explanations.iter().find(|explanation| explanation.spike == spike.number)?;
            let explained = ExplainedSpike { spike, explanation };
            explained.is_late().then_some(explained)
        })
        .collect();
    if explained.is_empty() {
        return RunCauses::default();
    }
    let mut worst = run.worst.to_vec();
    worst.sort_by_key(|(thread, sample)| (std::cmp::Reverse(sample.latency_ns), *thread, sample.cycle));
    worst.truncate(WORST_MAX);
    let is_traced = |thread: u32, cycle: u64| {
        explained.iter().any(|explained| explained.spike.thread == thread && explained.spike.sample.cycle == cycle)
    };
    let worst_with_trace = worst.iter().filter(|(thread, sample)| is_traced(*thread, sample.cycle)).count();
    let groups = group::groups(&explained, &worst, run);
    let mut causes = RunCauses {
        new_cause: unseen::new_cause(&explained),
        composed: composed::composed(&explained),
        worst_samples: worst.len() as u32,
        worst_with_trace: worst_with_trace as u32,
        groups,
        sentences: Vec::new(),
    };
    causes.sentences = words::run_causes::sentences(&causes, run.word);
    causes
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub use tests::any_spike;
