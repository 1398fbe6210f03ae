//! Gaps and problems of a run, worst first.

use crate::brief::short::Short;
use archive::problem::{Problem, Remark, Severity};
use archive::summary::RunSummary;
use serde::Serialize;
use std::cmp::Reverse;

#[derive(Debug, Clone, Serialize)]
pub struct BriefRemark {
    pub code: Short,
    pub text: Short,
}

/// The remarks about a run.
pub fn all(summary: &RunSummary) -> Vec<BriefRemark> {
    let mut problems: Vec<&Problem> =
        summary.problems.iter().filter(|problem| problem.severity != Severity::Invalid).collect();
    problems.sort_by_key(|problem| Reverse(problem.severity));
    let lost = summary.imported.iter().flat_map(|imported| &imported.lost);
    let remarks = problems.into_iter().map(Remark::from).chain(lost.cloned()).chain(summary.gaps.clone());
    remarks
        .map(|remark| BriefRemark { code: Short::name(remark.code.as_str()), text: Short::text(&remark.text) })
        .collect()
}
