//! The evidence of one CPU for a verdict.

use crate::brief::short::Short;
use judge::verdict::{CpuJudgement, Verdict};
use serde::Serialize;

#[derive(Debug, Clone, Serialize)]
pub struct BriefCpu {
    pub cpu: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<Short>,
    pub verdict: Verdict,
    /// Occasions per hour, or share of wake-ups over the latency; absent if nothing was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted: Option<BriefBounds>,
    /// The sample that alone breaks the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest_ns: Option<i64>,
    /// Hours still to measure for a pass without another bad event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hours_needed: Option<f64>,
    /// Code of the reason without a verdict, or of what limits it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<Short>,
}

#[derive(Debug, Clone, Serialize)]
pub struct BriefBounds {
    pub seen: f64,
    pub low: f64,
    pub high: f64,
}

impl BriefCpu {
    pub fn of(cpu: &CpuJudgement) -> Self {
        let is_counted = cpu.blocks.is_some() || cpu.samples.is_some();
        Self {
            cpu: cpu.cpu,
            series: cpu.series.as_deref().map(Short::name),
            verdict: cpu.verdict,
            counted: is_counted.then_some(BriefBounds { seen: cpu.seen, low: cpu.low, high: cpu.high }),
            latest_ns: cpu.latest_ns,
            hours_needed: cpu.hours_needed,
            because: cpu.because.as_ref().map(|because| Short::name(because.code.as_str())),
        }
    }
}
