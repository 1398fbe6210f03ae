//! Runs below directories, newest first, a page at a time.

use crate::listing::Listed;
use account::brief::BRIEF_VERSION;
use account::brief::fitted::{Shrink, fitted};
use account::brief::short::Short;
use archive::manifest::RunState;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct BriefRuns {
    brief_version: u32,
    /// Runs that pass the filters, shown or not.
    matched: usize,
    runs: Vec<BriefRun>,
    /// Runs to skip for the rest; absent if this is the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_skip: Option<usize>,
    #[serde(skip)]
    skipped: usize,
}

#[derive(Debug, Serialize)]
struct BriefRun {
    archive: Short,
    state: RunState,
    valid: bool,
    target: Short,
    kernel: Short,
    load: Short,
    #[serde(skip_serializing_if = "Option::is_none")]
    imported: Option<Short>,
    started_unix_ns: Option<i64>,
    latency_ns_max: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit_ns: Option<i64>,
    #[serde(skip_serializing_if = "is_zero")]
    over_limit: u64,
    late: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    worst_cause: Option<Short>,
}

/// The newest of the listed runs, which are oldest first, after those that are skipped.
pub fn runs(listed: &[Listed], skipped: usize) -> BriefRuns {
    let runs = listed.iter().rev().skip(skipped).map(brief).collect();
    fitted(BriefRuns { brief_version: BRIEF_VERSION, matched: listed.len(), runs, next_skip: None, skipped })
}

fn brief(run: &Listed) -> BriefRun {
    BriefRun {
        archive: Short::text(&run.archive),
        state: run.state,
        valid: run.valid,
        target: Short::name(&run.target),
        kernel: Short::name(&run.kernel),
        load: Short::name(&run.load),
        imported: run.imported.as_deref().map(Short::name),
        started_unix_ns: run.started_unix_ns,
        latency_ns_max: run.latency_ns_max,
        limit_ns: run.limit_ns,
        over_limit: run.over_limit,
        late: run.spikes,
        worst_cause: run.worst_cause.as_deref().map(Short::name),
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Shrink for BriefRuns {
    fn shrink(&mut self) -> bool {
        let dropped = self.runs.pop().is_some();
        self.next_skip = Some(self.skipped + self.runs.len());
        dropped
    }
}
