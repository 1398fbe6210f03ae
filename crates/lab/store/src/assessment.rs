//! What the index stores about a run but does not decide itself.

use archive::explanation::Explanation;
use archive::reader::Run;
use judge::step::StepVerdict;

/// Verdict and explanations of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Assessment {
    pub verdict: StepVerdict,
    /// One for each spike; may be empty.
    pub explanations: Vec<Explanation>,
}

/// Judges a run by its limits and explains its spikes.
pub trait Assess: Send + Sync {
    fn assess(&self, run: &Run) -> Assessment;
}

impl<F: Fn(&Run) -> Assessment + Send + Sync> Assess for F {
    fn assess(&self, run: &Run) -> Assessment {
        self(run)
    }
}
