//! The verdict on each limit, with its counts and bounds.

mod cpu;

use super::BRIEF_VERSION;
use super::fitted::{Shrink, fitted};
use super::left_out::{LeftOut, drop_last};
use super::short::Short;
use crate::JudgedRun;
use cpu::BriefCpu;
use judge::machine::DoubtKind;
use judge::verdict::{Judgement, Verdict};
use serde::Serialize;
use std::cmp::Reverse;

/// CPUs of a limit that an answer keeps as long as it can.
const CPUS_KEPT: usize = 2;

#[derive(Debug, Clone, Serialize)]
pub struct BriefJudged {
    pub brief_version: u32,
    pub archive: Short,
    pub valid: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub virtual_time: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub emulated: bool,
    /// Time that proves the verdicts, in hours; absent if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hours: Option<f64>,
    /// Empty if neither the request nor the run has a limit.
    pub judgements: Vec<BriefJudgement>,
    #[serde(skip_serializing_if = "LeftOut::is_nothing")]
    pub left_out: LeftOut,
}

#[derive(Debug, Clone, Serialize)]
pub struct BriefJudgement {
    pub limit: Short,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Short>,
    pub verdict: Verdict,
    /// In 0 .. 1.
    pub confidence: f64,
    /// CPUs by their verdict, worst first.
    pub cpus: Vec<BriefCpu>,
    /// Properties of the machine that prevent a pass unless they are accepted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<DoubtKind>,
    /// Codes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<Short>,
}

impl BriefJudged {
    pub fn of(judged: &JudgedRun) -> Self {
        fitted(Self {
            brief_version: BRIEF_VERSION,
            archive: Short::text(&judged.archive),
            valid: judged.valid,
            virtual_time: judged.virtual_time,
            emulated: judged.emulated,
            hours: judged.proof.as_ref().map(|proof| proof.hours),
            judgements: judged.judgements.iter().map(BriefJudgement::of).collect(),
            left_out: LeftOut::default(),
        })
    }
}

impl BriefJudgement {
    fn of(judgement: &Judgement) -> Self {
        let mut cpus: Vec<BriefCpu> = judgement.cpus.iter().map(BriefCpu::of).collect();
        cpus.sort_by_key(|cpu| Reverse(cpu.verdict));
        Self {
            limit: Short::name(&judgement.limit.text),
            allow: judgement.limit.allow.as_ref().map(|rate| Short::name(&rate.text)),
            verdict: judgement.verdict,
            confidence: judgement.confidence,
            cpus,
            doubts: judgement.doubts.iter().map(|doubt| doubt.kind).collect(),
            cautions: judgement.cautions.iter().map(|caution| Short::name(caution.code.as_str())).collect(),
        }
    }

    fn shrink(&mut self, left_out: &mut LeftOut) -> bool {
        drop_last(&mut self.cpus, CPUS_KEPT, &mut left_out.cpus)
            || drop_last(&mut self.cautions, 1, &mut left_out.remarks)
    }
}

impl Shrink for BriefJudged {
    fn shrink(&mut self) -> bool {
        let Self { judgements, left_out, .. } = self;
        judgements.iter_mut().any(|judgement| judgement.shrink(left_out))
            || drop_last(judgements, 1, &mut left_out.limits)
    }
}
