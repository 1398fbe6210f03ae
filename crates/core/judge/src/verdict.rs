//! Whether a run shows that a limit holds, shows that it does not, or is too short for either.
//!
//! If any CPU breaks the limit, PASS is wrong with probability at most 1 - confidence: every CPU must show by itself
//! that the limit holds, so no correction is needed. If no CPU breaks it, FAIL is wrong with probability at most 1 -
//! confidence: one CPU suffices, so each gets its share of the error (Bonferroni).
//!
//! Unknown never counts as good: a run without an end, with lost records or with uncounted missed periods does not
//! pass.

mod completeness;
mod coverage;
mod in_time;
mod quantile;
mod rate;
mod sentence;

use crate::blocks::Blocks;
use crate::limit::{Limit, Requirement};
use crate::machine::{Doubt, DoubtKind, doubts};
use crate::quantile::QuantileCounts;
use crate::readings::Readings;
use crate::refusal::Refusal;
use archive::problem::Remark;
use archive::reader::{Run, ThreadRun};
use archive::summary::RunSummary;
use archive::watched::WatchedKind;
use completeness::{cautions, incomplete};
use quantile::{QuantileLimit, judge_quantile};
use rate::judge_rate;
use sentence::sentence;
use serde::{Deserialize, Serialize};
use words::vocabulary::watched_series;

/// The verdict of a run about a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Pass,
    NotEnoughData,
    /// The run cannot be judged by this limit.
    NoVerdict,
    Fail,
}

impl Verdict {
    pub fn words(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::NotEnoughData => "NOT ENOUGH DATA",
            Self::NoVerdict => "NO VERDICT",
        }
    }
}

/// Occasions on which wake-ups were late.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Occasions {
    pub count: u64,
    /// Late wake-ups within this time of the first of an occasion belong to it.
    pub within_s: u32,
    /// Stretches of this length do not correlate with their neighbours.
    pub independent_s: u32,
    /// Missed periods of the whole run.
    #[serde(default)]
    pub missed: u64,
    /// Whether a wake-up was certainly later than the limit.
    #[serde(default)]
    pub late: bool,
    /// Number of such wake-ups.
    #[serde(default)]
    pub late_samples: u64,
    /// The longest disturbance that FAIL assumes, in seconds, where it rests on the share of bad seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbance_s: Option<u32>,
}

/// The counts and bounds of one CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuJudgement {
    pub thread: u32,
    pub cpu: u32,
    /// The kind of wake-ups and the thread, if the threads of a program were watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
    pub verdict: Verdict,
    /// Judged time, in hours.
    pub hours: f64,
    /// Time blocks, if a rate was judged.
    pub blocks: Option<Blocks>,
    #[serde(default)]
    pub occasions: Option<Occasions>,
    /// Wake-ups over the latency, if a quantile was judged.
    pub samples: Option<QuantileCounts>,
    /// Occasions per hour, or share of wake-ups over the latency: observed, and its bounds at the confidence.
    pub seen: f64,
    pub low: f64,
    pub high: f64,
    /// The largest sample, if it alone shows that the limit is broken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_ns: Option<i64>,
    /// Hours still needed for PASS without another bad event; `None` if no time suffices or none is needed.
    pub hours_needed: Option<f64>,
    /// Why there is no verdict, or what limits it.
    pub because: Option<Remark>,
}

/// The judgement of a run by one limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    pub limit: Limit,
    /// In 0 .. 1.
    pub confidence: f64,
    pub verdict: Verdict,
    /// The verdict and its evidence as a sentence.
    pub sentence: String,
    pub cpus: Vec<CpuJudgement>,
    /// Reasons why the machine cannot pass a real-time limit, accepted or not.
    pub doubts: Vec<Doubt>,
    /// Losses, and other cautions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<Remark>,
}

/// Judges a run by a limit. `accepted` lists the doubts about the machine that do not prevent PASS.
pub fn judge(run: &Run, summary: &RunSummary, limit: &Limit, confidence: f64, accepted: &[DoubtKind]) -> Judgement {
    let doubts = doubts(summary);
    let mut judgement = Judgement {
        limit: limit.clone(),
        confidence,
        verdict: Verdict::NoVerdict,
        sentence: String::new(),
        cpus: Vec::new(),
        doubts,
        cautions: cautions(run),
    };
    if !summary.valid {
        judgement.sentence = format!("NO VERDICT: the run is not valid: {}.", Remark::joined(&summary.invalid_because));
        return judgement;
    }
    let refused: Vec<&Doubt> = judgement.doubts.iter().filter(|doubt| !accepted.contains(&doubt.kind)).collect();
    if let Some(emulated) = refused.iter().find(|doubt| doubt.kind == DoubtKind::Emulated) {
        judgement.sentence = format!("NO VERDICT: {}.", emulated.text);
        return judgement;
    }
    // A limit is for wake-ups: how long a cycle takes is another figure.
    let threads: Vec<&ThreadRun> =
        run.threads.values().filter(|thread| !is_cycle(run, thread) && run.decides(thread.thread)).collect();
    let risk = 1.0 - confidence;
    let levels = Levels { pass: confidence, fail: 1.0 - risk / threads.len().max(1) as f64 };
    judgement.cpus = threads.into_iter().map(|thread| judge_cpu(run, summary, thread, limit, levels)).collect();
    let of = |verdict| judgement.cpus.iter().filter(move |cpu| cpu.verdict == verdict);
    let verdict = [Verdict::Fail, Verdict::NoVerdict, Verdict::NotEnoughData, Verdict::Pass]
        .into_iter()
        .find(|verdict| of(*verdict).next().is_some())
        .unwrap_or(Verdict::NoVerdict);
    if verdict == Verdict::Pass {
        let missing = incomplete(run, summary);
        if !missing.is_empty() {
            judgement.sentence = format!("NO VERDICT: the numbers would pass, but {}.", Remark::joined(&missing));
            return judgement;
        }
    }
    if verdict == Verdict::Pass && !refused.is_empty() {
        let reasons: Vec<&str> = refused.iter().map(|doubt| doubt.text.as_str()).collect();
        let words: Vec<&str> = refused.iter().map(|doubt| doubt.kind.word()).collect();
        judgement.sentence = format!(
            "NO VERDICT: the numbers would pass, but {}. Use `--accept {}` if the limit is meant for such a machine.",
            reasons.join("; and "),
            words.join(",")
        );
        return judgement;
    }
    judgement.verdict = verdict;
    judgement.sentence = sentence(&judgement, words::vocabulary::sample(summary));
    judgement
}

/// Confidence that each CPU needs for PASS and for FAIL.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Levels {
    pub pass: f64,
    pub fail: f64,
}

fn is_cycle(run: &Run, thread: &ThreadRun) -> bool {
    run.watched.get(&thread.thread).is_some_and(|series| series.kind == WatchedKind::Cycle)
}

fn judge_cpu(run: &Run, summary: &RunSummary, thread: &ThreadRun, limit: &Limit, levels: Levels) -> CpuJudgement {
    let seconds = limit.requirement.latest_ns().and_then(|latest_ns| in_time::seconds(summary, thread, latest_ns));
    let placed = seconds.map(|seconds| ThreadRun { seconds, ..thread.clone() });
    let thread = placed.as_ref().unwrap_or(thread);
    let judged = match (&limit.requirement, &limit.allow) {
        (Requirement::Quantile { q, latest_ns, disturbance_s }, _) => {
            let limit = QuantileLimit { q: *q, latest_ns: *latest_ns, disturbance_s: *disturbance_s };
            judge_quantile(run, summary, thread, limit, levels)
        }
        (requirement, Some(allow)) => judge_rate(run, summary, thread, requirement, allow, levels),
        (_, None) => Err(Refusal::NoRate),
    };
    let judged = judged.map_err(|refusal| in_time::refusal(summary, thread, limit, refusal));
    let readings = Readings::of(summary);
    let resolved = limit.requirement.latest_ns().is_none_or(|latest_ns| readings.resolve(latest_ns));
    let judged = judged.and_then(|judged| {
        if resolved || judged.verdict == Verdict::Fail {
            return Ok(judged);
        }
        Err(Refusal::CoarserThanTheLimit(readings.width_ns()))
    });
    let mut judged = judged.unwrap_or_else(|refusal| CpuJudgement {
        because: Some(Remark::new(&refusal)),
        ..CpuJudgement::empty(Verdict::NoVerdict)
    });
    (judged.thread, judged.cpu) = (thread.thread, thread.cpu);
    judged.series = run.watched.get(&thread.thread).map(watched_series);
    judged
}

impl CpuJudgement {
    /// The subject of the figures.
    pub fn name(&self) -> String {
        self.series.clone().unwrap_or_else(|| format!("CPU {}", self.cpu))
    }

    pub(crate) fn empty(verdict: Verdict) -> Self {
        Self {
            thread: 0,
            cpu: 0,
            series: None,
            verdict,
            hours: 0.0,
            blocks: None,
            occasions: None,
            samples: None,
            seen: 0.0,
            low: 0.0,
            high: 0.0,
            latest_ns: None,
            hours_needed: None,
            because: None,
        }
    }
}
