//! Why nothing is claimed from a run, or what limits a claim.

use archive::problem::{Code, ProblemKind};
use thiserror::Error;
use words::amounts::{hours, percent};
use words::figures::counted;

/// A reason against a claim, or a limitation of one.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Refusal {
    #[error("the run is not valid: {0}")]
    InvalidRun(String),
    #[error("the figures are virtual time: the same run gives the same maximum, and nothing is left to chance")]
    VirtualTime,
    #[error("the machine was emulated: its latencies mean nothing as real-time figures")]
    Emulated,
    #[error("the archive has no record of each second")]
    NoSeconds,
    #[error("it has more seconds than its records can be of, or than a year: the archive is damaged")]
    SecondsDamaged,
    #[error("the records of {0:.1} % of its seconds are missing")]
    SecondsMissing(f64),
    #[error("the limit does not say how often it may be exceeded")]
    NoRate,
    #[error(
        "{0} is more often than once in ten seconds, which the record of each second cannot resolve; state the limit as a \
         quantile"
    )]
    RateTooHigh(String),
    #[error("it measured for less than a second")]
    NothingMeasured,
    #[error("bad seconds come in bursts too long for this run: they cannot be counted as separate events")]
    LongBursts,
    #[error("{} may have one and count against PASS: the record of a second is missing, or its values are rounded", counted(*.0, "stretch"))]
    BlocksUnknown(u64),
    #[error("{} without a record count as late throughout", counted(*.0, "second"))]
    RecordsOfSecondsMissing(u64),
    #[error("the run has no end: what it did not record may be its worst")]
    NoEnd,
    #[error("{count} {kind} were lost, and any of them may be late")]
    Lost { count: u64, kind: String },
    #[error(
        "the tool that measured does not count missed periods, and a period without a wake-up is later than any limit"
    )]
    MissedUnknown,
    /// `largest` is the largest latency as a clause.
    #[error("{}", refuted(.largest, *.missed))]
    Refuted { largest: String, missed: u64 },
    #[error("{}", unplaced(*.certain))]
    MaximumUnplaced { certain: bool },
    #[error("{} are too short; it takes {}", hours(*hours_measured), hours(*hours_needed))]
    TooShort { hours_measured: f64, hours_needed: f64 },
    /// The series changes; `after_hours` is where it changes most clearly.
    #[error("{change}{}", split(*.after_hours))]
    NotStationary { change: Change, after_hours: Option<f64> },
    #[error("its largest latencies are all equal")]
    AllEqual,
    #[error("late wake-ups cluster over more than {}: neighbouring blocks resemble each other", hours(*.0))]
    BlocksCluster(f64),
    #[error("the archive does not say how long it measured")]
    LengthUnknown,
    #[error("{} is more than {factor:.0} times as long as the test; ask for {} or less", hours(*asked), hours(*allowed))]
    HorizonTooLong { asked: f64, factor: f64, allowed: f64 },
    #[error("{0:.0} % of its largest latencies equal another one: the clock or a rounding is too coarse")]
    ClockTooCoarse(f64),
    #[error("{}", apart(*.0))]
    StandsApart(usize),
    #[error("its tail is not regular: no threshold leaves peaks of one kind")]
    TailIrregular,
    #[error("its tail is too short for a level beyond it")]
    TailTooShort,
    #[error("no useful bound follows: the interval is more than ten times the estimate")]
    NoUsefulBound,
    #[error("the shape of its tail cannot be estimated")]
    NoShape,
    #[error("the maxima of its blocks cannot be fitted")]
    BlocksNotFitted,
    #[error("the maxima of its blocks allow no cross-check")]
    NoCrossCheck,
    #[error("peaks and maxima of blocks contradict each other")]
    Contradiction,
    #[error("{peaks} peaks are too few for a tail; late wake-ups come in bursts, and it takes {}", hours(*.hours_needed))]
    TooFewPeaks { peaks: usize, hours_needed: f64 },
    #[error("late wake-ups come in bursts longer than a minute")]
    BurstsOverAMinute,
    #[error("its largest latencies have several causes ({0}), and each has a tail of its own")]
    SeveralCauses(String),
    #[error("{}", round_words(*.rounds, *.confidence_max, *.confidence, *.rounds_needed))]
    TooFewRounds { rounds: usize, confidence_max: f64, confidence: f64, rounds_needed: usize },
}

/// How a series that should be stationary changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Change {
    #[error("its maxima rise during the run")]
    Rises,
    #[error("its maxima fall during the run")]
    Falls,
    #[error("it sets new maxima more often than an unchanging machine would")]
    MoreRecords,
    #[error("it sets new maxima less often than an unchanging machine would")]
    FewerRecords,
    #[error("its level changes during the run")]
    Level,
}

fn refuted(largest: &str, missed: u64) -> String {
    let missed = match missed {
        0 => String::new(),
        missed => format!(" and {} went without one", counted(missed, "period")),
    };
    format!("{largest}{missed}, and the limit allows none")
}

fn unplaced(certain: bool) -> String {
    let holds = if certain { "holds" } else { "may hold" };
    format!("the maximum is beyond the limit and no second's record shows it: what was lost {holds} late wake-ups")
}

fn split(after_hours: Option<f64>) -> String {
    let clearest = |after| format!(", most clearly after {}; measure each state by itself", hours(after));
    after_hours.map_or(String::new(), clearest)
}

fn apart(count: usize) -> String {
    let they = if count == 1 { "latency is".to_owned() } else { format!("{count} latencies are") };
    format!(
        "the largest {they} far above the others, as if from another cause: so few do not show what causes them, or how often"
    )
}

fn round_words(rounds: usize, confidence_max: f64, confidence: f64, needed: usize) -> String {
    let (plural, verb) = if rounds == 1 { ("", "allows") } else { ("s", "allow") };
    format!(
        "{rounds} round{plural} {verb} at most {} confidence; {} needs {needed} rounds",
        percent(confidence_max),
        percent(confidence)
    )
}

impl ProblemKind for Refusal {
    fn code(&self) -> Code {
        Code::new(match self {
            Self::InvalidRun(_) => "judge.invalid-run",
            Self::VirtualTime => "judge.virtual-time",
            Self::Emulated => "judge.emulated",
            Self::NoSeconds => "judge.no-seconds",
            Self::SecondsDamaged => "judge.seconds-damaged",
            Self::SecondsMissing(_) => "judge.seconds-missing",
            Self::NoRate => "judge.no-rate",
            Self::RateTooHigh(_) => "judge.rate-too-high",
            Self::NothingMeasured => "judge.nothing-measured",
            Self::LongBursts => "judge.long-bursts",
            Self::BlocksUnknown(_) => "judge.blocks-unknown",
            Self::RecordsOfSecondsMissing(_) => "judge.seconds-missing",
            Self::NoEnd => "judge.no-end",
            Self::Lost { .. } => "judge.records-lost",
            Self::MissedUnknown => "judge.missed-unknown",
            Self::Refuted { .. } => "judge.refuted",
            Self::MaximumUnplaced { .. } => "judge.maximum-unplaced",
            Self::TooShort { .. } => "judge.too-short",
            Self::NotStationary { .. } => "judge.not-stationary",
            Self::AllEqual => "judge.all-equal",
            Self::BlocksCluster(_) => "judge.blocks-cluster",
            Self::LengthUnknown => "judge.length-unknown",
            Self::HorizonTooLong { .. } => "judge.horizon-too-long",
            Self::ClockTooCoarse(_) => "judge.clock-too-coarse",
            Self::StandsApart(_) => "judge.outliers",
            Self::TailIrregular => "judge.tail-irregular",
            Self::TailTooShort => "judge.tail-too-short",
            Self::NoUsefulBound => "judge.no-useful-bound",
            Self::NoShape => "judge.no-shape",
            Self::BlocksNotFitted | Self::NoCrossCheck => "judge.no-cross-check",
            Self::Contradiction => "judge.contradiction",
            Self::TooFewPeaks { .. } => "judge.too-few-peaks",
            Self::BurstsOverAMinute => "judge.long-bursts",
            Self::SeveralCauses(_) => "judge.several-causes",
            Self::TooFewRounds { .. } => "judge.too-few-rounds",
        })
    }
}
