//! Two runs side by side. One run each is not a verdict, so the answer names what gives one.

use super::BRIEF_VERSION;
use super::fitted::{Shrink, fitted};
use super::left_out::{LeftOut, drop_last};
use super::short::Short;
use crate::ComparedRuns;
use claims::difference_kind::DifferenceKind;
use judge::compare::{ComparedCulprit, ComparedFigure};
use judge::difference::Difference;
use serde::Serialize;

/// The command that gives a verdict about two systems.
const DECIDED_BY: &str = "tardy experiment";

#[derive(Debug, Clone, Serialize)]
pub struct BriefCompared {
    pub brief_version: u32,
    pub a: Short,
    pub b: Short,
    pub figures: Vec<BriefFigure>,
    /// Explained spikes by cause.
    pub causes: Vec<BriefCounts>,
    /// Unexplained spikes of each run.
    pub unexplained: (u64, u64),
    /// Codes of reasons against comparing these runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<Short>,
    pub differences: Vec<BriefDifference>,
    pub decided_by: &'static str,
    #[serde(skip_serializing_if = "LeftOut::is_nothing")]
    pub left_out: LeftOut,
}

#[derive(Debug, Clone, Serialize)]
pub struct BriefFigure {
    pub name: Short,
    pub unit: Short,
    pub a: Option<f64>,
    pub b: Option<f64>,
}

#[derive(Debug, Clone, Serialize)]
pub struct BriefCounts {
    pub culprit: Short,
    pub a: u64,
    pub b: u64,
}

#[derive(Debug, Clone, Serialize)]
pub struct BriefDifference {
    pub what: DifferenceKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<Short>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<Short>,
}

impl BriefCompared {
    pub fn of(compared: &ComparedRuns) -> Self {
        let comparison = &compared.comparison;
        fitted(Self {
            brief_version: BRIEF_VERSION,
            a: Short::text(&compared.a),
            b: Short::text(&compared.b),
            figures: comparison.figures.iter().map(BriefFigure::of).collect(),
            causes: comparison.culprits.iter().map(BriefCounts::of).collect(),
            unexplained: comparison.unexplained,
            cautions: comparison.cautions.iter().map(|caution| Short::name(caution.code.as_str())).collect(),
            differences: comparison.differences.iter().map(BriefDifference::of).collect(),
            decided_by: DECIDED_BY,
            left_out: LeftOut::default(),
        })
    }
}

impl BriefFigure {
    fn of(figure: &ComparedFigure) -> Self {
        let (name, unit) = (figure.name.to_string(), figure.unit.to_string());
        Self { name: Short::name(&name), unit: Short::name(&unit), a: figure.a, b: figure.b }
    }
}

impl BriefCounts {
    fn of(counts: &ComparedCulprit) -> Self {
        Self { culprit: Short::name(counts.culprit.id()), a: counts.a, b: counts.b }
    }
}

impl BriefDifference {
    fn of(difference: &Difference) -> Self {
        let short = |side: &Option<String>| side.as_deref().map(Short::name);
        Self { what: difference.what, a: short(&difference.a), b: short(&difference.b) }
    }
}

impl Shrink for BriefCompared {
    fn shrink(&mut self) -> bool {
        let left_out = &mut self.left_out;
        drop_last(&mut self.differences, 3, &mut left_out.differences)
            || drop_last(&mut self.causes, 4, &mut left_out.causes)
            || drop_last(&mut self.figures, 5, &mut left_out.figures)
            || drop_last(&mut self.cautions, 1, &mut left_out.remarks)
            || drop_last(&mut self.differences, 0, &mut left_out.differences)
            || drop_last(&mut self.causes, 0, &mut left_out.causes)
            || drop_last(&mut self.figures, 0, &mut left_out.figures)
    }
}
