//! Passes accounts to `judge`, and the documents of its results.

use crate::account::Account;
use claims::limit::Limit;
use judge::causes::{CausesDifference, CausesSide, differ};
use judge::compare::{Comparison, Side, compare};
use judge::extremes::extrapolation::{Extrapolation, extrapolate};
use judge::machine::DoubtKind;
use judge::proof::{Proof, proof};
use judge::verdict::Judgement;
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
    /// The traces recorded during the measurement.
    pub tracing: Option<String>,
    pub judgements: Vec<Judgement>,
    /// The proof by the length of the run, without a limit.
    pub proof: Option<Proof>,
    /// Extrapolation of each CPU to a longer time, if requested.
    pub extrapolations: Vec<Extrapolation>,
}

impl Account {
    /// The run, judged by each of the limits, with what it proves without one.
    pub fn judged(&self, limits: &[Limit], confidence: f64, accepted: &[DoubtKind]) -> JudgedRun {
        let summary = self.summary();
        let proven = summary.valid.then(|| proof(self.run(), summary, self.causes().new_cause.as_ref(), confidence));
        JudgedRun {
            judge_version: JUDGE_VERSION,
            judgements: self.judge(limits, confidence, accepted),
            proof: proven.flatten(),
            extrapolations: Vec::new(),
            id: summary.id.clone(),
            archive: summary.archive.clone(),
            valid: summary.valid,
            emulated: summary.emulated,
            virtual_time: summary.virtual_time,
            tracing: summary.tracing.clone(),
        }
    }

    /// Extrapolation of each CPU to a time of `horizon_ns`.
    pub fn extrapolate(&self, horizon_ns: u64, confidence: f64) -> Vec<Extrapolation> {
        extrapolate(self.run(), self.summary(), self.explanations(), horizon_ns as f64 / 3.6e12, confidence)
    }

    fn side(&self) -> Side<'_> {
        Side { run: self.run(), summary: self.summary(), explanations: self.explanations() }
    }
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

/// Compares two runs.
pub fn compared(a: &Account, b: &Account) -> ComparedRuns {
    ComparedRuns {
        compare_version: COMPARE_VERSION,
        comparison: compare(a.side(), b.side()),
        a: a.summary().archive.clone(),
        b: b.summary().archive.clone(),
    }
}

/// Version of the document that `tardy explain --diff --json` prints.
const CAUSES_VERSION: u32 = 1;

/// The causes of two runs side by side.
#[derive(Debug, Serialize)]
pub struct DifferingCauses {
    pub causes_version: u32,
    /// Paths of the archives.
    pub a: String,
    pub b: String,
    pub difference: CausesDifference,
}

/// Compares the causes of two runs.
pub fn differing(a: &Account, b: &Account) -> DifferingCauses {
    let [of_a, of_b] = [a, b].map(|account| CausesSide { of: account.side(), causes: account.causes() });
    DifferingCauses {
        causes_version: CAUSES_VERSION,
        difference: differ(of_a, of_b),
        a: a.summary().archive.clone(),
        b: b.summary().archive.clone(),
    }
}
