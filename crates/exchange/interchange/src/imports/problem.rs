//! Problems of a result file, and what it does not contain.

use super::lack::SamplesLack;
use archive::problem::{Code, Problem, ProblemKind};
use thiserror::Error;

/// Something about a file that the user must know before using the figures.
#[derive(Debug, Clone, PartialEq, Error, Problem)]
pub enum ImportProblem {
    #[error("the file is not valid JSON, by a known defect of its tool; it was read nevertheless")]
    #[problem(
        code = "import.json-repaired",
        meaning = "The tool wrote a file that no JSON parser reads; the known defect was repaired while reading.",
        fix = "",
        documented_fix = "update the tool to write valid files"
    )]
    JsonRepaired,
    #[error("the file announces {announced} threads and holds {held}")]
    #[problem(
        code = "import.threads-missing",
        meaning = "The file does not hold as many threads as it says.",
        fix = "",
        documented_fix = "import the whole, uncut file"
    )]
    ThreadsMissing { announced: f64, held: usize },
    #[error("these are latencies of the timer interrupt, not of wake-ups")]
    #[problem(
        code = "import.interrupt-latencies",
        meaning = "The figures end at the timer interrupt; the way to the thread is not in them.",
        fix = "",
        documented_fix = "import the thread latencies with `--series thread`"
    )]
    InterruptLatencies,
    #[error("the source says that it failed: return_code {code}")]
    #[problem(
        code = "import.source-failed",
        meaning = "The tool ended with an error, so its figures must not be used.",
        fix = "",
        documented_fix = "measure again"
    )]
    SourceFailed { code: i64 },
    #[error("the file does not say rtla's bucket width; it was taken as 1 µs")]
    #[problem(
        code = "import.bucket-width-assumed",
        meaning = "rtla does not write its bucket width; another one scales every latency.",
        fix = "",
        documented_fix = "measure with the default width of 1 µs"
    )]
    BucketWidthAssumed,
    #[error("{tool} measures how long a busy loop was interrupted, not wake-ups")]
    #[problem(
        code = "import.measures-interruptions",
        meaning = "The tool measures interruptions of a busy loop and no wake-ups.",
        fix = "",
        documented_fix = "compare it with runs of the same tool only"
    )]
    MeasuresInterruptions { tool: String },
    #[error("{tool} measures the way from one task to another, not timer wake-ups")]
    #[problem(
        code = "import.measures-relays",
        meaning = "The tool measures the time from one task to another and no timer wake-ups.",
        fix = "",
        documented_fix = "compare it with runs of the same tool only"
    )]
    MeasuresRelays { tool: String },
    #[error("the file does not say its unit; it was taken as {symbol}")]
    #[problem(
        code = "import.unit-assumed",
        meaning = "The file does not state whether its latencies are in µs or ns.",
        fix = "import it with --unit ns if it was made with -N",
        documented_fix = "give the unit with `--unit`"
    )]
    UnitAssumed { symbol: &'static str },
    #[error("samples.raw beside the file was left out: {why}")]
    #[problem(
        code = "import.samples-left-out",
        meaning = "The samples beside the results could not be used; the figures come from the results alone.",
        fix = "",
        documented_fix = "put the samples.raw of the same run beside the file"
    )]
    SamplesLeftOut { why: SamplesLack },
    #[error(
        "rteval adds interrupt, thread and user latencies of timerlat into one histogram: no figure here is of \
         wake-ups alone"
    )]
    #[problem(
        code = "import.mixed-histogram",
        meaning = "One histogram holds three kinds of latencies, which cannot be separated again.",
        fix = "measure with `rtla timerlat hist` itself"
    )]
    MixedHistogram,
    #[error("the run was ended early ({reason}){}", by(latency.as_deref()))]
    #[problem(
        code = "import.ended-early",
        meaning = "The source stopped before its time was over, often because a latency exceeded its limit.",
        fix = "",
        documented_fix = "measure again without a limit to get the whole time"
    )]
    EndedEarly { reason: String, latency: Option<String> },
    #[error("the maximum is the last row with a count: larger values, had there been any, are not in the file")]
    #[problem(
        code = "import.maximum-truncated",
        meaning = "The columns end at a largest row; larger latencies are unknown.",
        fix = "import the whole output of the tool instead"
    )]
    MaximumTruncated,
    #[error("values are rounded down to 1 µs by the source: a latency shown as 5 µs was at least 5 µs and below 6 µs")]
    #[problem(
        code = "import.values-rounded",
        meaning = "The source keeps whole microseconds.",
        fix = "",
        documented_fix = "measure in ns where the tool can (`cyclictest -N`)"
    )]
    ValuesRounded,
    #[error("the mean was computed from the rounded values")]
    #[problem(
        code = "import.mean-computed",
        meaning = "The source gives no mean; it was computed from its histogram.",
        fix = "",
        documented_fix = "nothing to do; the mean is as coarse as the values"
    )]
    MeanComputed,
    #[error("the mean comes from the source, rounded down to whole {symbol}")]
    #[problem(
        code = "import.mean-rounded",
        meaning = "The source prints its mean without decimals.",
        fix = "",
        documented_fix = "nothing to do; the mean is as coarse as it says"
    )]
    MeanRounded { symbol: &'static str },
    #[error("the mean comes from the source, with {decimals} decimals of a {symbol}")]
    #[problem(
        code = "import.mean-decimals",
        meaning = "The source prints its mean with few decimals.",
        fix = "",
        documented_fix = "nothing to do; the mean is as exact as it says"
    )]
    MeanDecimals { decimals: u32, symbol: &'static str },
}

/// A contradiction within one thread of a file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("thread {thread}: {contradiction}")]
pub struct ThreadProblem {
    pub thread: usize,
    pub contradiction: Contradiction,
}

/// See [`ThreadProblem`].
#[derive(Debug, Clone, PartialEq, Eq, Error, Problem)]
pub enum Contradiction {
    #[error("its minimum is negative: the clock of the source went backwards")]
    #[problem(
        code = "import.minimum-negative",
        meaning = "A latency below zero: the clock of the machine went backwards.",
        fix = "",
        documented_fix = "look for the clock source of that machine, and measure again"
    )]
    MinimumNegative,
    #[error("its maximum {max} is in no bucket although every wake-up is: the source contradicts itself")]
    #[problem(
        code = "import.maximum-in-no-bucket",
        meaning = "The histogram holds every wake-up and none as late as the maximum.",
        fix = "",
        documented_fix = "treat the file as damaged; measure again"
    )]
    MaximumInNoBucket { max: i128 },
    #[error("the source counts {stated} wake-ups but its histogram holds {held}; the latter is kept")]
    #[problem(
        code = "import.counts-differ",
        meaning = "The count of wake-ups is less than what the histogram holds. A few are a race in the tool, many \
                   are damage.",
        fix = "",
        documented_fix = "measure again if many are apart"
    )]
    CountsDiffer { stated: u64, held: u64 },
    #[error(
        "its maximum {max} is a negative latency that wrapped around: the clock went backwards, and the source lost \
         the true maximum"
    )]
    #[problem(
        code = "import.maximum-wrapped",
        meaning = "A negative latency was stored as a huge one and replaced the true maximum, which nobody can \
                   restore.",
        fix = "",
        documented_fix = "measure again with a clock that does not step"
    )]
    MaximumWrapped { max: i128 },
    #[error("its maximum {max} lies below its last bucket; the source contradicts itself")]
    #[problem(
        code = "import.maximum-below-buckets",
        meaning = "The histogram holds latencies above the maximum that the source prints.",
        fix = "",
        documented_fix = "treat the file as damaged; measure again"
    )]
    MaximumBelowBuckets { max: i128 },
}

impl ProblemKind for ThreadProblem {
    fn code(&self) -> Code {
        self.contradiction.code()
    }
}

/// Fields that the source of an import does not contain; they are unknown, not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error, Problem)]
pub enum Lost {
    #[error("the command line and the time of the run")]
    #[problem(
        code = "import.command-unknown",
        meaning = "The source does not keep its command line and when it ran.",
        fix = "nothing to do; measure with `tardy run` to have it"
    )]
    CommandAndTime,
    #[error("the command line of the tool")]
    #[problem(
        code = "import.command-line-unknown",
        meaning = "The source does not keep the command line of its tool.",
        fix = "nothing to do; measure with `tardy run` to have it"
    )]
    Command,
    #[error("the command line of the tool and when the run took place")]
    #[problem(same_as = CommandAndTime)]
    CommandOfToolAndTime,
    #[error("the distribution between minimum and maximum")]
    #[problem(
        code = "import.distribution-unknown",
        meaning = "The source keeps minimum, mean and maximum alone, so there are no quantiles.",
        fix = "nothing to do; measure with `tardy run` to have it"
    )]
    Distribution,
    #[error("the version and the command line of the tool, the machine, and when the run took place")]
    #[problem(
        code = "import.origin-unknown",
        meaning = "The source does not say by what, where and when it was measured.",
        fix = "nothing to do; measure with `tardy run` to have it"
    )]
    VersionMachineAndTime,
    #[error("the tool, its command line, the machine, and when the run took place")]
    #[problem(same_as = VersionMachineAndTime)]
    ToolMachineAndTime,
    #[error("the CPU of each thread (thread numbers are shown instead)")]
    #[problem(
        code = "import.cpu-unknown",
        meaning = "The source does not say which CPU a thread or a column stands for.",
        fix = "nothing to do; measure with `tardy run` to have it"
    )]
    CpuOfThreads,
    #[error("which CPU each column is; the CPUs shown are the numbers of the columns, from 0")]
    #[problem(same_as = CpuOfThreads)]
    CpuOfColumns,
    #[error("which latency is of the interrupt, of the thread, and of its return to user space")]
    #[problem(
        code = "import.latency-parts-unknown",
        meaning = "The source mixes the latencies of interrupt, thread and return to user space.",
        fix = "nothing to do; measure with `tardy run` to have it"
    )]
    PartsOfLatency,
    #[error("the time zone of the dates")]
    #[problem(
        code = "import.time-zone-unknown",
        meaning = "Dates of the source have no time zone; they are taken as UTC.",
        fix = "nothing to do; measure with `tardy run` to have it"
    )]
    TimeZone,
    #[error("how many values lay beyond the last row, and how large they were")]
    #[problem(
        code = "import.overflow-unknown",
        meaning = "The histogram ends somewhere, and what lay beyond was not counted.",
        fix = "nothing to do; measure with `tardy run` to have it"
    )]
    BeyondLastRow,
    #[error("how many periods were missed because a wake-up came late by more than an interval")]
    #[problem(
        code = "import.missed-periods-unknown",
        meaning = "Other tools do not count the periods that a late wake-up skipped.",
        fix = "nothing to do; measure with `tardy run` to have it"
    )]
    MissedPeriods,
    #[error("how many samples had a negative latency because a clock misbehaved")]
    #[problem(
        code = "import.clock-anomalies-unknown",
        meaning = "Other tools do not count samples with a negative latency.",
        fix = "nothing to do; measure with `tardy run` to have it"
    )]
    NegativeLatencies,
    #[error("when each wake-up happened")]
    #[problem(
        code = "import.instants-unknown",
        meaning = "The source keeps no time of any sample, so there is no picture over time.",
        fix = "nothing to do; measure with `tardy run` to have it"
    )]
    Instants,
}

fn by(latency: Option<&str>) -> String {
    latency.map_or_else(String::new, |latency| format!(" by a latency of {latency} µs"))
}
