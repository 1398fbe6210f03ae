//! Passes archives to `judge` and presents its results unchanged.

use crate::archives::explaining::{causes_of, explain_run};
use archive::explanation::Explanation;
use archive::reader::Run;
use archive::summary::RunSummary;
use judge::causes::{CausesDifference, CausesSide, differ};
use judge::compare::{Comparison, Side, compare};
use judge::extremes::extrapolation::{Extrapolation, extrapolate};
use judge::limit::Limit;
use judge::machine::DoubtKind;
use judge::proof::{Proof, proof};
use judge::verdict::{Judgement, judge};
use serde::Serialize;

/// Version of the document that `tardy judge --json` prints.
pub const JUDGE_VERSION: u32 = 1;

/// A run, judged.
#[derive(Debug, Serialize)]
pub struct JudgedRun {
    pub judge_version: u32,
    pub id: String,
    pub archive: String,
    pub valid: bool,
    pub emulated: bool,
    /// The clock counts instructions.
    pub virtual_time: bool,
    /// What was traced during the measurement.
    pub tracing: Option<String>,
    pub judgements: Vec<Judgement>,
    /// What the run proves without a limit.
    pub proof: Option<Proof>,
    /// What each CPU implies for a longer time, if that was requested.
    pub extrapolations: Vec<Extrapolation>,
}

/// Judges a run by each of the limits.
pub fn judge_run(
    run: &Run,
    explanations: &[Explanation],
    limits: &[Limit],
    confidence: f64,
    accepted: &[DoubtKind],
) -> JudgedRun {
    let summary = RunSummary::of(run, &[]);
    JudgedRun {
        judge_version: JUDGE_VERSION,
        judgements: limits.iter().map(|limit| judge(run, &summary, limit, confidence, accepted)).collect(),
        proof: proof(run, &summary, explanations, confidence).filter(|_| summary.valid),
        extrapolations: Vec::new(),
        id: summary.id,
        archive: summary.archive,
        valid: summary.valid,
        emulated: summary.emulated,
        virtual_time: summary.virtual_time,
        tracing: summary.tracing,
    }
}

/// What each CPU of a run implies for a time of `horizon_ns`.
pub fn extrapolate_run(
    run: &Run,
    explanations: &[Explanation],
    horizon_ns: u64,
    confidence: f64,
) -> Vec<Extrapolation> {
    extrapolate(run, &RunSummary::of(run, &[]), explanations, horizon_ns as f64 / 3.6e12, confidence)
}

/// Version of the document that `tardy compare --json` prints.
pub const COMPARE_VERSION: u32 = 1;

/// Two runs side by side.
#[derive(Debug, Serialize)]
pub struct ComparedRuns {
    pub compare_version: u32,
    /// Paths of the archives.
    pub a: String,
    pub b: String,
    pub comparison: Comparison,
}

/// Compares two runs, each with its explanations.
pub fn compare_runs(a: (&Run, &[Explanation]), b: (&Run, &[Explanation])) -> ComparedRuns {
    let (summary_a, summary_b) = (RunSummary::of(a.0, &[]), RunSummary::of(b.0, &[]));
    ComparedRuns {
        compare_version: COMPARE_VERSION,
        comparison: compare(
            Side { run: a.0, summary: &summary_a, explanations: a.1 },
            Side { run: b.0, summary: &summary_b, explanations: b.1 },
        ),
        a: summary_a.archive,
        b: summary_b.archive,
    }
}

/// Version of the document that `tardy explain --diff --json` prints.
pub const CAUSES_VERSION: u32 = 1;

/// The causes of two runs side by side.
#[derive(Debug, Serialize)]
pub struct DifferingCauses {
    pub causes_version: u32,
    /// Paths of the archives.
    pub a: String,
    pub b: String,
    pub difference: CausesDifference,
}

/// Explains two runs and compares their causes.
pub fn differ_causes(a: &Run, b: &Run) -> DifferingCauses {
    let [of_a, of_b] = [a, b].map(|run| {
        let explanations = explain_run(run, &mut |_, _| {});
        let causes = causes_of(run, &explanations);
        (RunSummary::of(run, &[]), explanations, causes)
    });
    let side = |run, (summary, explanations, causes)| CausesSide { of: Side { run, summary, explanations }, causes };
    DifferingCauses {
        causes_version: CAUSES_VERSION,
        difference: differ(side(a, (&of_a.0, &of_a.1, &of_a.2)), side(b, (&of_b.0, &of_b.1, &of_b.2))),
        a: of_a.0.archive,
        b: of_b.0.archive,
    }
}
