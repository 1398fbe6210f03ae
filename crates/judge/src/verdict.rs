//! Whether a run shows that a limit holds, shows that it does not, or is too short for either.
//!
//! PASS is wrong with probability at most 1 - confidence if any CPU breaks the limit: every CPU must show by itself that
//! it holds, so nothing is added up and no correction is needed. FAIL is wrong with probability at most 1 - confidence if
//! no CPU breaks it: one CPU suffices, so each gets its share of the error (Bonferroni).

use crate::blocks::{BLOCK_S_DEFAULT, Blocks, Seconds};
use crate::bounds::{expected_events, probability, time_needed};
use crate::limit::{Limit, Rate, Requirement};
use crate::machine::{Doubt, DoubtKind, doubts};
use crate::quantile::{QuantileCounts, judge_quantile};
use crate::refusal::Refusal;
use crate::words::{hours, percent, rough, time};
use archive::problem::Remark;
use archive::reader::{Run, ThreadRun};
use archive::sample::Second;
use archive::summary::RunSummary;
use serde::{Deserialize, Serialize};

/// Of a block at most this share may be bad for the allowed rate to mean single events.
const BAD_SHARE_MAX: f64 = 0.1;
/// Beyond this share the blocks cannot tell the allowed rate from any other.
const BAD_SHARE_USELESS: f64 = 0.5;
/// A run is cut into at least so many blocks where its length allows.
const BLOCKS_WANTED: usize = 30;

/// What a run says about a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Pass,
    NotEnoughData,
    /// The run cannot be judged by this limit at all.
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

/// What is counted on one CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuJudgement {
    pub thread: u32,
    pub cpu: u32,
    pub verdict: Verdict,
    /// Time that was judged, in hours.
    pub hours: f64,
    /// Time blocks, when a rate was judged.
    pub blocks: Option<Blocks>,
    /// Samples over the latency and their dispersion, when a quantile was judged.
    pub samples: Option<QuantileCounts>,
    /// Bad blocks an hour, or share of samples over the latency: as seen, and between what it is at the confidence.
    pub seen: f64,
    pub low: f64,
    pub high: f64,
    /// Hours still needed for PASS if nothing bad comes any more; `None` when no time suffices or none is needed.
    pub hours_needed: Option<f64>,
    /// Why there is no verdict, or what limits it.
    pub because: Option<Remark>,
}

/// What a run says about one limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    pub limit: Limit,
    /// In 0 .. 1.
    pub confidence: f64,
    pub verdict: Verdict,
    /// The verdict in words, with what it rests on.
    pub sentence: String,
    pub cpus: Vec<CpuJudgement>,
    /// What keeps the machine from passing a real-time limit, accepted or not.
    pub doubts: Vec<Doubt>,
}

/// Judges a run by a limit. `accepted`: doubts about the machine that do not keep it from passing.
pub fn judge(run: &Run, summary: &RunSummary, limit: &Limit, confidence: f64, accepted: &[DoubtKind]) -> Judgement {
    let doubts = doubts(summary);
    let mut judgement = Judgement {
        limit: limit.clone(),
        confidence,
        verdict: Verdict::NoVerdict,
        sentence: String::new(),
        cpus: Vec::new(),
        doubts,
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
    let cpus = run.threads.len().max(1) as f64;
    let risk = 1.0 - confidence;
    let levels = Levels { pass: confidence, fail: 1.0 - risk / cpus };
    judgement.cpus = run.threads.values().map(|thread| judge_cpu(run, summary, thread, limit, levels)).collect();
    let of = |verdict| judgement.cpus.iter().filter(move |cpu| cpu.verdict == verdict);
    let verdict = [Verdict::Fail, Verdict::NoVerdict, Verdict::NotEnoughData, Verdict::Pass]
        .into_iter()
        .find(|verdict| of(*verdict).next().is_some())
        .unwrap_or(Verdict::NoVerdict);
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
    judgement.sentence = sentence(&judgement);
    judgement
}

/// Confidence that each CPU needs for PASS and for FAIL.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Levels {
    pub pass: f64,
    pub fail: f64,
}

fn judge_cpu(run: &Run, summary: &RunSummary, thread: &ThreadRun, limit: &Limit, levels: Levels) -> CpuJudgement {
    let interval_ns = summary.settings.as_ref().map(|settings| settings.interval_ns);
    let gaps_are_normal = interval_ns.is_some_and(|ns| ns.saturating_mul(3) / 2 >= 1_000_000_000);
    let seconds = |is_bad: &dyn Fn(&Second) -> bool| {
        if thread.seconds.is_empty() {
            return Err(Refusal::NoSeconds);
        }
        Seconds::of(&thread.seconds, summary.measured_ns, gaps_are_normal, is_bad).ok_or(Refusal::SecondsDamaged)
    };
    let judged = match (&limit.requirement, &limit.allow) {
        (Requirement::Latency { latest_ns }, Some(allow)) => {
            seconds(&|second| second.latency_ns_max > *latest_ns).map(|seconds| judge_rate(&seconds, allow, levels))
        }
        (Requirement::Missed, Some(allow)) => {
            seconds(&|second| second.missed_periods > 0).map(|seconds| judge_rate(&seconds, allow, levels))
        }
        (Requirement::Quantile { q, latest_ns }, _) => QuantileCounts::of(run, thread, *latest_ns, summary.measured_ns)
            .map(|counts| judge_quantile(counts, *q, levels)),
        (_, None) => Err(Refusal::NoRate),
    };
    let mut judged = judged.unwrap_or_else(|refusal| CpuJudgement {
        because: Some(Remark::new(&refusal)),
        ..CpuJudgement::empty(Verdict::NoVerdict)
    });
    (judged.thread, judged.cpu) = (thread.thread, thread.cpu);
    judged
}

impl CpuJudgement {
    pub(crate) fn empty(verdict: Verdict) -> Self {
        Self {
            thread: 0,
            cpu: 0,
            verdict,
            hours: 0.0,
            blocks: None,
            samples: None,
            seen: 0.0,
            low: 0.0,
            high: 0.0,
            hours_needed: None,
            because: None,
        }
    }
}

/// The rate of bad blocks against what is allowed.
fn judge_rate(seconds: &Seconds, allow: &Rate, levels: Levels) -> CpuJudgement {
    let shortest = BAD_SHARE_MAX * 3600.0 / allow.per_hour;
    if shortest < 1.0 {
        return CpuJudgement {
            because: Some(Remark::new(&Refusal::RateTooHigh(allow.text.clone()))),
            ..CpuJudgement::empty(Verdict::NoVerdict)
        };
    }
    let longest = (seconds.states.len() / BLOCKS_WANTED).clamp(1, BLOCK_S_DEFAULT as usize) as f64;
    let blocks = seconds.independent_blocks(shortest.min(longest) as u32);
    let (hours, block_hours) = (blocks.hours(), f64::from(blocks.block_s) / 3600.0);
    if blocks.count == 0 {
        return CpuJudgement {
            because: Some(Remark::new(&Refusal::NothingMeasured)),
            ..CpuJudgement::empty(Verdict::NotEnoughData)
        };
    }
    let suspect = blocks.bad + blocks.unknown;
    let high = probability(suspect as f64, blocks.count as f64, levels.pass).1 / block_hours;
    // Where bad blocks come together each stretch of them may be one event.
    let low = if blocks.resemble() {
        expected_events(blocks.events, levels.fail).0 / hours
    } else {
        probability(blocks.bad as f64, blocks.count as f64, levels.fail).0 / block_hours
    };
    let useless = allow.per_hour * block_hours > BAD_SHARE_USELESS;
    let together = blocks.resemble() || useless;
    let verdict = if low > allow.per_hour {
        Verdict::Fail
    } else if high <= allow.per_hour && !together {
        Verdict::Pass
    } else {
        Verdict::NotEnoughData
    };
    let needed = time_needed(allow.per_hour, suspect, levels.pass).map(|needed| (needed - hours).max(0.0));
    let because = if together && verdict != Verdict::Fail {
        Some(Remark::new(&Refusal::LongBursts))
    } else if blocks.unknown > 0 {
        Some(Remark::new(&Refusal::BlocksUnknown(blocks.unknown)))
    } else {
        None
    };
    CpuJudgement {
        hours,
        seen: blocks.bad as f64 / hours,
        low,
        high,
        blocks: Some(blocks),
        hours_needed: needed.filter(|needed| verdict == Verdict::NotEnoughData && *needed > 0.0 && !together),
        because,
        ..CpuJudgement::empty(verdict)
    }
}

fn sentence(judgement: &Judgement) -> String {
    let Judgement { limit, confidence, verdict, cpus, .. } = judgement;
    let words = verdict.words();
    let sure = percent(*confidence);
    let decisive: Vec<&CpuJudgement> = cpus.iter().filter(|cpu| cpu.verdict == *verdict).collect();
    let names: Vec<String> = decisive.iter().map(|cpu| cpu.cpu.to_string()).collect();
    let where_ = match (names.len(), cpus.len()) {
        (_, 1) => "".to_owned(),
        (some, all) if some == all => "on every CPU ".to_owned(),
        (1, _) => format!("on CPU {} ", names[0]),
        _ => format!("on CPUs {} ", names.join(", ")),
    };
    let Some(worst) = decisive.iter().max_by(|one, other| one.high.total_cmp(&other.high)) else {
        return format!("{words}: no thread has samples to judge.");
    };
    if let (Verdict::NoVerdict, Some(because)) = (verdict, &worst.because) {
        return format!("{words}: {because}.");
    }
    let bad = match &limit.requirement {
        Requirement::Latency { latest_ns } => format!("a wake-up later than {}", time(*latest_ns as f64 + 0.5)),
        Requirement::Missed => "a missed period".into(),
        Requirement::Quantile { latest_ns, .. } => format!("later than {}", time(*latest_ns as f64 + 0.5)),
    };
    match (&limit.requirement, &limit.allow, &worst.blocks) {
        (Requirement::Quantile { q, .. }, _, _) => quantile_sentence(words, &where_, &bad, *q, worst, *verdict, &sure),
        (_, Some(allow), Some(blocks)) => {
            let block = block_words(blocks.block_s);
            let seen = format!("{} of {} such stretches", blocks.bad, blocks.count);
            let plainly = format!("{} of {} stretches ({block} each)", blocks.bad, blocks.count);
            match verdict {
                Verdict::Pass => format!(
                    "{words}: {where_}{block} with {bad} comes less often than {}, with {sure} confidence, as long as the \
                     conditions are those of this run (seen in {seen}).",
                    allow.text
                ),
                Verdict::Fail => {
                    let worst = decisive.iter().max_by(|one, other| one.low.total_cmp(&other.low)).unwrap_or(worst);
                    let blocks = worst.blocks.unwrap_or(*blocks);
                    format!(
                        "{words}: {where_}{} with {bad} came {} in {}: with {sure} confidence more often than {}.",
                        block_words(blocks.block_s),
                        if blocks.bad == 1 { "once".into() } else { format!("{} times", blocks.bad) },
                        hours(worst.hours),
                        allow.text
                    )
                }
                _ => not_enough(words, &where_, &bad, allow, cpus, &plainly, &sure),
            }
        }
        _ => format!("{words}: {}.", worst.because.as_ref().map_or("nothing was measured", |because| &because.text)),
    }
}

fn not_enough(
    words: &str,
    where_: &str,
    bad: &str,
    allow: &Rate,
    cpus: &[CpuJudgement],
    seen: &str,
    sure: &str,
) -> String {
    let measured = cpus.iter().map(|cpu| cpu.hours).fold(0.0, f64::max);
    let begin = format!("{words}: {where_}{bad} came in {seen} in {}", hours(measured));
    if allow.per_hour == 0.0 {
        return format!("{begin}; no test is long enough to show *never*. Allow a rate, like 1/day.");
    }
    if let Some(because) = cpus.iter().find(|cpu| cpu.hours_needed.is_none()).and_then(|cpu| cpu.because.as_ref()) {
        return format!("{begin}; {because}.");
    }
    let more = cpus.iter().filter_map(|cpu| cpu.hours_needed).fold(0.0, f64::max);
    format!(
        "{begin}: that shows neither more nor fewer than {}. {} more without one would show fewer, with {sure} confidence.",
        allow.text,
        hours(more)
    )
}

fn quantile_sentence(
    words: &str,
    where_: &str,
    bad: &str,
    q: f64,
    cpu: &CpuJudgement,
    verdict: Verdict,
    sure: &str,
) -> String {
    let share = |p: f64| format!("{} %", rough(p * 100.0));
    let allowed = share(1.0 - q);
    let (high, low) = (share(cpu.high), share(cpu.low));
    match verdict {
        Verdict::Pass => format!(
            "{words}: {where_}at most {high} of the wake-ups come {bad}, with {sure} confidence; {allowed} may."
        ),
        Verdict::Fail => format!(
            "{words}: {where_}at least {low} of the wake-ups come {bad}, with {sure} confidence; only {allowed} may."
        ),
        _ => {
            let more =
                cpu.hours_needed.map_or(String::new(), |more| format!(" About {} more may decide.", hours(more)));
            let because = cpu.because.as_ref().map_or(String::new(), |because| format!(" ({because})"));
            format!(
                "{words}: {where_}between {low} and {high} of the wake-ups come {bad}, with {sure} confidence; {allowed} may{because}.{more}"
            )
        }
    }
}

fn block_words(seconds: u32) -> String {
    match seconds {
        60 => "a minute".into(),
        1 => "a second".into(),
        minutes if minutes.is_multiple_of(60) => format!("a stretch of {} min", minutes / 60),
        seconds => format!("a stretch of {seconds} s"),
    }
}
