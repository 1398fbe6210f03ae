//! Why nothing is claimed from a run, or what limits a claim.

use archive::method::SampleWord;
use archive::problem::Problem;
use thiserror::Error;
use words::amounts::{hours, percent, rough, time};
use words::figures::counted;
use words::vocabulary::largest;

/// A reason against a claim, or a limitation of one.
#[derive(Debug, Clone, PartialEq, Error, Problem)]
pub enum Refusal {
    #[error("the run is not valid: {0}")]
    #[problem(
        code = "judge.invalid-run",
        meaning = "The run is not valid, so nothing is claimed from it.",
        fix = "fix what made the run invalid, then measure again"
    )]
    InvalidRun(String),
    #[error("the figures are virtual time: the same run gives the same maximum, and nothing is left to chance")]
    #[problem(
        code = "judge.virtual-time",
        meaning = "The figures are executed instructions of a machine in virtual time, not time on hardware.",
        fix = "measure on hardware to judge a real-time limit"
    )]
    VirtualTime,
    #[error("the machine was emulated: its latencies mean nothing as real-time figures")]
    #[problem(
        code = "judge.emulated",
        meaning = "The machine was emulated; its latencies mean nothing as real-time figures.",
        fix = "measure on hardware"
    )]
    Emulated,
    #[error("the archive has no record of each second")]
    #[problem(
        code = "judge.no-seconds",
        meaning = "The archive has no record of what happened in each second.",
        fix = "measure with this program; imported results often lack it"
    )]
    NoSeconds,
    #[error(
        "{format} keeps no time of any wake-up: it can show that a limit is broken, and pass only if no wake-up was later; \
         jitterdebugger's samples.raw and `tardy run` keep times"
    )]
    #[problem(
        code = "judge.import-without-times",
        meaning = "The format of the import has no time of any wake-up, so how late ones cluster is unknown.",
        fix = "import jitterdebugger's samples.raw, or measure with `tardy run`"
    )]
    ImportWithoutTimes { format: String },
    #[error(
        "no wake-up was later, but {format} does not say how long it measured; rt-tests' --json, rtla's text, rteval and \
         OSADL's dataset do"
    )]
    #[problem(
        code = "judge.import-without-length",
        meaning = "No wake-up of the import was later than the limit, but its format has no length of the run.",
        fix = "import the `--json` of the same run, or measure with `tardy run`"
    )]
    ImportWithoutLength { format: String },
    #[error("start and end of its tool, in whole seconds and with its set-up, leave less than a second to judge")]
    #[problem(
        code = "judge.import-too-short",
        meaning = "An import measured for about two seconds or less, which its tool notes too coarsely to judge.",
        fix = "measure for longer"
    )]
    ImportTooShort,
    #[error("it has more seconds than its records can be of, or than a year: the archive is damaged")]
    #[problem(
        code = "judge.seconds-damaged",
        meaning = "The seconds of a thread have impossible numbers: the archive is damaged.",
        fix = "measure again, or restore the archive from a copy"
    )]
    SecondsDamaged,
    #[error("the records of {0:.1} % of its seconds are missing")]
    #[problem(
        code = "judge.seconds-missing",
        meaning = "More than 1 % of the seconds of a thread have no record.",
        fix = "measure again; look at the lost records in `tardy report`"
    )]
    SecondsMissing(f64),
    #[error("the limit does not say how often it may be exceeded")]
    #[problem(
        code = "judge.no-rate",
        meaning = "The limit does not say how often it may be exceeded.",
        fix = "add a rate, such as `--allow 1/day`"
    )]
    NoRate,
    #[error(
        "{0} is more often than once in ten seconds, which the record of each second cannot resolve; state the limit as a \
         quantile"
    )]
    #[problem(
        code = "judge.rate-too-high",
        meaning = "The limit allows more than one event in ten seconds, which the record of each second cannot \
                   resolve.",
        fix = "state the limit as a quantile, such as `p99.9 < 50us`"
    )]
    RateTooHigh(String),
    #[error("it measured for less than a second")]
    #[problem(
        code = "judge.nothing-measured",
        meaning = "A thread measured for less than a second.",
        fix = "measure for longer"
    )]
    NothingMeasured,
    #[error("late wake-ups come in bursts so long that this run has too few separate ones")]
    #[problem(
        code = "judge.long-bursts",
        meaning = "Late wake-ups come in bursts so long that this run has too few independent ones.",
        fix = "find the cause of the bursts, or measure for longer"
    )]
    LongBursts,
    #[error("{} may have one and count against PASS: the record of a second is missing, or its values are rounded", counted(*.0, "stretch"))]
    #[problem(
        code = "judge.blocks-unknown",
        meaning = "Some blocks lack the record of a second. They count against PASS.",
        fix = "measure again without lost records"
    )]
    BlocksUnknown(u64),
    #[error("{} without a record count as late throughout", counted(*.0, "second"))]
    #[problem(same_as = SecondsMissing)]
    RecordsOfSecondsMissing(u64),
    #[error("the run has no end: what it did not record may be its worst")]
    #[problem(
        code = "judge.no-end",
        meaning = "The run has no end, so what happened last is unknown. A hang is the worst latency of all.",
        fix = "measure again. A run that ended early is judged by the time it lasted"
    )]
    NoEnd,
    #[error("{count} {kind} were lost, and any of them may be late")]
    #[problem(
        code = "judge.records-lost",
        meaning = "Records of wake-ups were lost. Any of them may be late, so the run passes no limit.",
        fix = "measure again on a line and a disk that keep up"
    )]
    Lost { count: u64, kind: String },
    #[error("no figures of CPU{} are in the archive, though the run was to measure there", cpus(.0))]
    #[problem(
        code = "judge.cpus-absent",
        meaning = "The run was to measure CPUs of which the archive has no figures.",
        fix = "measure again, with the CPUs that the limit is about: `--cpus`"
    )]
    CpusAbsent(Vec<u32>),
    #[error("of the periods of CPU {cpu}, {} % are recorded, and any other may have been late", rough((*.recorded * 100.0).min(98.9)))]
    #[problem(
        code = "judge.periods-absent",
        meaning = "The archive has far fewer wake-ups and missed periods than fall into the time of the run.",
        fix = "measure again; an archive of another program must have every period, or count it as missed"
    )]
    PeriodsAbsent { cpu: u32, recorded: f64 },
    #[error("the tool that measured does not count missed periods, and a missed period may be later than the limit")]
    #[problem(
        code = "judge.missed-unknown",
        meaning = "The tool that measured does not count periods without a wake-up. Unknown is not zero.",
        fix = "measure with this program"
    )]
    MissedUnknown,
    #[error("the lateness of some missed periods is unknown")]
    #[problem(
        code = "judge.missed-unexplained",
        meaning = "The run missed periods, and no recorded wake-up shows how late they were: the thread was late before samples \
                   counted, armed its timer late, or had random intervals.",
        fix = "measure again with a longer `--settle`, or state a limit on missed periods, such as `--limit 'missed < 1/h'`"
    )]
    MissedUnexplained,
    #[error("{}", refuted(**.word, *.latency_ns, *.missed))]
    #[problem(
        code = "judge.refuted",
        meaning = "The limit allows no late wake-up, and there was one.",
        fix = "look at the causes with `tardy explain`, or allow a rate, such as `--allow 1/day`"
    )]
    Refuted { word: Box<SampleWord>, latency_ns: i64, missed: u64 },
    #[error("{}", unplaced(*.certain))]
    #[problem(
        code = "judge.maximum-unplaced",
        meaning = "The maximum of the run is beyond the limit, and no record of a second shows when it came.",
        fix = "measure again without lost records"
    )]
    MaximumUnplaced { certain: bool },
    #[error("the run measured for {}, and this claim needs {}", hours(*hours_measured), hours(*hours_needed))]
    #[problem(
        code = "judge.too-short",
        meaning = "The run is too short for this claim.",
        fix = "measure for at least as long as the message says"
    )]
    TooShort { hours_measured: f64, hours_needed: f64 },
    /// The series changes; `after_hours` is where it changes most clearly.
    #[error("{change}{}", split(*.after_hours))]
    #[problem(
        code = "judge.not-stationary",
        meaning = "The latencies change during the run, so its tail says nothing about a longer time.",
        fix = "measure each state by itself, after the machine has settled"
    )]
    NotStationary { change: Change, after_hours: Option<f64> },
    #[error("its largest latencies are all equal")]
    #[problem(
        code = "judge.all-equal",
        meaning = "The largest latencies are all equal, so there is no tail.",
        fix = "measure with a finer clock or resolution"
    )]
    AllEqual,
    #[error("late wake-ups cluster over more than {}: neighbouring blocks resemble each other", hours(*.0))]
    #[problem(
        code = "judge.blocks-cluster",
        meaning = "Late wake-ups cluster over many minutes: neighbouring blocks resemble each other.",
        fix = "measure under a load that stays the same"
    )]
    BlocksCluster(f64),
    #[error("the archive does not say how long it measured")]
    #[problem(
        code = "judge.length-unknown",
        meaning = "The archive does not say how long the run measured.",
        fix = "measure with this program; imported results often lack it"
    )]
    LengthUnknown,
    #[error("{} is more than {factor:.0} times as long as the test; ask for {} or less", hours(*asked), hours(*allowed))]
    #[problem(
        code = "judge.horizon-too-long",
        meaning = "The horizon is more than ten times as long as the run.",
        fix = "ask for a shorter horizon, or measure for longer"
    )]
    HorizonTooLong { asked: f64, factor: f64, allowed: f64 },
    #[error("{0:.0} % of its largest latencies equal another one: the clock or a rounding is too coarse")]
    #[problem(
        code = "judge.clock-too-coarse",
        meaning = "Many of the largest latencies are equal: the clock, or a rounding, is too coarse.",
        fix = "measure with nanosecond resolution"
    )]
    ClockTooCoarse(f64),
    #[error("the clock, or a rounding, resolves only {}: even a reading of 0 may be beyond the limit", time(*.0 as f64))]
    #[problem(
        code = "judge.clock-too-coarse-for-the-limit",
        meaning = "The limit is below the resolution of the clock, or of the tool that rounded its values.",
        fix = "measure with a clock of nanosecond resolution (`tardy check` names the setting), or state a longer limit"
    )]
    CoarserThanTheLimit(i64),
    #[error("{}", apart(*.0))]
    #[problem(
        code = "judge.outliers",
        meaning = "A few latencies are far above all others, as if from another cause.",
        fix = "explain those spikes; measure for longer to see how often they come"
    )]
    StandsApart(usize),
    #[error("its tail is not regular: no threshold leaves peaks of one kind")]
    #[problem(
        code = "judge.tail-irregular",
        meaning = "No threshold leaves peaks of one kind.",
        fix = "explain the spikes and remove one cause, or measure for longer"
    )]
    TailIrregular,
    #[error("its tail is too short for a level beyond it")]
    #[problem(
        code = "judge.tail-too-short",
        meaning = "The tail has too few peaks for a level beyond it.",
        fix = "measure for longer"
    )]
    TailTooShort,
    #[error("no useful bound follows: the interval is more than ten times the estimate")]
    #[problem(
        code = "judge.no-useful-bound",
        meaning = "The interval is more than ten times the estimate.",
        fix = "measure for longer, or ask for a shorter horizon"
    )]
    NoUsefulBound,
    #[error("the shape of its tail cannot be estimated")]
    #[problem(
        code = "judge.no-shape",
        meaning = "The shape of the tail cannot be estimated.",
        fix = "measure for longer"
    )]
    NoShape,
    #[error("the maxima of its blocks cannot be fitted")]
    #[problem(
        code = "judge.no-cross-check",
        meaning = "The maxima of blocks allow no second estimate to check the first.",
        fix = "measure for longer"
    )]
    BlocksNotFitted,
    #[error("the maxima of its blocks allow no cross-check")]
    #[problem(same_as = BlocksNotFitted)]
    NoCrossCheck,
    #[error("peaks and maxima of blocks contradict each other")]
    #[problem(
        code = "judge.contradiction",
        meaning = "Two methods give estimates that contradict each other.",
        fix = "measure for longer; look for several causes"
    )]
    Contradiction,
    #[error(
        "the run has only {}, because late wake-ups come in bursts; a tail needs a run of {}",
        counted(*.peaks as u64, "separate peak"),
        hours(*.hours_needed)
    )]
    #[problem(
        code = "judge.too-few-peaks",
        meaning = "There are too few independent peaks for a tail.",
        fix = "measure for at least as long as the message says"
    )]
    TooFewPeaks { peaks: usize, hours_needed: f64 },
    #[error("late wake-ups come in bursts longer than a minute")]
    #[problem(same_as = LongBursts)]
    BurstsOverAMinute,
    #[error("its largest latencies have several causes ({0}), and each has a tail of its own")]
    #[problem(
        code = "judge.several-causes",
        meaning = "The largest latencies have several causes, and each has a tail of its own.",
        fix = "remove all causes but one, or measure each by itself"
    )]
    SeveralCauses(String),
    #[error("{}", round_words(*.rounds, *.confidence_max, *.confidence, *.rounds_needed))]
    #[problem(
        code = "judge.too-few-rounds",
        meaning = "So few rounds do not reach the confidence, whatever they show.",
        fix = "run as many rounds as the message says, or lower the confidence"
    )]
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

fn cpus(absent: &[u32]) -> String {
    let numbers: Vec<String> = absent.iter().map(u32::to_string).collect();
    format!("{} {}", if absent.len() == 1 { "" } else { "s" }, numbers.join(", "))
}

fn refuted(word: SampleWord, latency_ns: i64, missed: u64) -> String {
    let largest = largest(word, &time(latency_ns as f64));
    let missed = match missed {
        0 => String::new(),
        missed => format!(" and missed {}", counted(missed, "period")),
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
