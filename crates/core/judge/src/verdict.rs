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

use crate::machine::{DoubtKind, doubts};
use crate::readings::Readings;
use crate::refusal::Refusal;
use archive::problem::Remark;
use archive::reader::{Run, ThreadRun};
use archive::summary::RunSummary;
use archive::watched::WatchedKind;
use claims::limit::{Limit, Requirement};
pub use claims::verdict::{CpuJudgement, Judgement, Occasions, Verdict, Withheld};
use completeness::{cautions, incomplete};
use quantile::{QuantileLimit, judge_quantile};
use rate::judge_rate;
use words::vocabulary::watched_series;

/// Judges a run by a limit. `accepted` lists the doubts about the machine that do not prevent PASS.
pub fn judge(run: &Run, summary: &RunSummary, limit: &Limit, confidence: f64, accepted: &[DoubtKind]) -> Judgement {
    let mut judgement = Judgement {
        limit: limit.clone(),
        confidence,
        verdict: Verdict::NoVerdict,
        withheld: None,
        sentence: String::new(),
        cpus: Vec::new(),
        doubts: doubts(summary),
        cautions: cautions(run),
    };
    let refused: Vec<DoubtKind> =
        judgement.doubts.iter().map(|doubt| doubt.kind).filter(|kind| !accepted.contains(kind)).collect();
    if !summary.valid {
        judgement.withheld = Some(Withheld::Invalid(summary.invalid_because.clone()));
    } else if refused.contains(&DoubtKind::Emulated) {
        judgement.withheld = Some(Withheld::Emulated);
    } else {
        judgement.cpus = judge_cpus(run, summary, limit, confidence);
        let of = |verdict| judgement.cpus.iter().any(move |cpu| cpu.verdict == verdict);
        let verdict = [Verdict::Fail, Verdict::NoVerdict, Verdict::NotEnoughData, Verdict::Pass]
            .into_iter()
            .find(|verdict| of(*verdict))
            .unwrap_or(Verdict::NoVerdict);
        let missing = if verdict == Verdict::Pass { incomplete(run, summary) } else { Vec::new() };
        if !missing.is_empty() {
            judgement.withheld = Some(Withheld::Incomplete(missing));
        } else if verdict == Verdict::Pass && !refused.is_empty() {
            judgement.withheld = Some(Withheld::Doubted(refused));
        } else {
            judgement.verdict = verdict;
        }
    }
    judgement.sentence = words::claims::verdict::sentence(&judgement, words::vocabulary::sample(summary));
    judgement
}

fn judge_cpus(run: &Run, summary: &RunSummary, limit: &Limit, confidence: f64) -> Vec<CpuJudgement> {
    // A limit is for wake-ups: how long a cycle takes is another figure.
    let threads: Vec<&ThreadRun> =
        run.threads.values().filter(|thread| !is_cycle(run, thread) && run.decides(thread.thread)).collect();
    let risk = 1.0 - confidence;
    let levels = Levels { pass: confidence, fail: 1.0 - risk / threads.len().max(1) as f64 };
    threads.into_iter().map(|thread| judge_cpu(run, summary, thread, limit, levels)).collect()
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
