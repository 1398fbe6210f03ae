//! Judges and explains a run for the index.

use crate::archives::explaining::explain_run;
use crate::archives::judging::judge_run;
use crate::options::limits::{confidence, limits_of};
use archive::reader::Run;
use archive::summary::RunSummary;
use judge::machine::DoubtKind;
use judge::step::StepVerdict;
use std::sync::Arc;
use store::{Assess, Assessment};

const CONFIDENCE_DEFAULT: f64 = 0.95;

/// The verdict by the limits of the run's plan, and its explanations: the saved ones if there are any.
pub fn assessing() -> Arc<dyn Assess> {
    Arc::new(|run: &Run| {
        let explanations = run.explanations().unwrap_or_else(|| explain_run(run, &mut |_, _| {}));
        Assessment { verdict: verdict(run), explanations }
    })
}

fn verdict(run: &Run) -> StepVerdict {
    let valid = RunSummary::of(run, &[]).valid;
    let Some(planned) = &run.planned else { return StepVerdict::of(valid, &[]) };
    // The archive may be untrusted.
    let certain = confidence(&planned.confidence_percent.to_string()).unwrap_or(CONFIDENCE_DEFAULT);
    let accepted: Vec<DoubtKind> = planned.accept.iter().filter_map(|word| DoubtKind::of_word(word)).collect();
    StepVerdict::of(valid, &judge_run(run, &[], &limits_of(&planned.limits), certain, &accepted).judgements)
}
