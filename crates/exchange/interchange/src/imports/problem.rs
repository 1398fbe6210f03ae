//! Problems of a result file, and what it does not contain.

use super::lack::SamplesLack;
use archive::problem::{Code, Definition, ProblemKind};
use std::fmt;

/// Something about a file that the user must know before using the figures.
#[derive(Debug, Clone, PartialEq)]
pub enum ImportProblem {
    JsonRepaired,
    ThreadsMissing { announced: f64, held: usize },
    InterruptLatencies,
    SourceFailed { code: i64 },
    BucketWidthAssumed,
    MeasuresInterruptions { tool: String },
    MeasuresRelays { tool: String },
    UnitAssumed { symbol: &'static str },
    SamplesLeftOut { why: SamplesLack },
    MixedHistogram,
    EndedEarly { reason: String, latency: Option<String> },
    MaximumTruncated,
    ValuesRounded,
    MeanComputed,
    MeanRounded { symbol: &'static str },
    MeanDecimals { decimals: u32, symbol: &'static str },
}

impl fmt::Display for ImportProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::JsonRepaired => out.write_str("the file is not valid JSON, by a known defect of its tool; it was read nevertheless"),
            Self::ThreadsMissing { announced, held } => write!(out, "the file announces {announced} threads and holds {held}"),
            Self::InterruptLatencies => out.write_str("these are latencies of the timer interrupt, not of wake-ups"),
            Self::SourceFailed { code } => write!(out, "the source says that it failed: return_code {code}"),
            Self::BucketWidthAssumed => out.write_str("the file does not say rtla's bucket width; it was taken as 1 µs"),
            Self::MeasuresInterruptions { tool } => write!(out, "{tool} measures how long a busy loop was interrupted; where it says wake-up, read interruption"),
            Self::MeasuresRelays { tool } => write!(out, "{tool} measures the way from one task to another; where it says wake-up, read that way"),
            Self::UnitAssumed { symbol } => write!(out, "the file does not say its unit; it was taken as {symbol}"),
            Self::SamplesLeftOut { why } => write!(out, "samples.raw beside the file was left out: {why}"),
            Self::MixedHistogram => out.write_str("rteval adds interrupt, thread and user latencies of timerlat into one histogram: no figure here is of wake-ups alone"),
            Self::EndedEarly { reason, latency: None } => write!(out, "the run was ended early ({reason})"),
            Self::EndedEarly { reason, latency: Some(latency) } => {
                write!(out, "the run was ended early ({reason}) by a latency of {latency} µs")
            }
            Self::MaximumTruncated => out.write_str("the maximum is the last row with a count: larger values, had there been any, are not in the file"),
            Self::ValuesRounded => out.write_str("values are rounded down to 1 µs by the source: a latency shown as 5 µs was at least 5 µs and below 6 µs"),
            Self::MeanComputed => out.write_str("the mean was computed from the rounded values"),
            Self::MeanRounded { symbol } => write!(out, "the mean comes from the source, rounded down to whole {symbol}"),
            Self::MeanDecimals { decimals, symbol } => write!(out, "the mean comes from the source, with {decimals} decimals of a {symbol}"),
        }
    }
}

impl ProblemKind for ImportProblem {
    fn code(&self) -> Code {
        Code::new(match self {
            Self::JsonRepaired => "import.json-repaired",
            Self::ThreadsMissing { .. } => "import.threads-missing",
            Self::InterruptLatencies => "import.interrupt-latencies",
            Self::SourceFailed { .. } => "import.source-failed",
            Self::BucketWidthAssumed => "import.bucket-width-assumed",
            Self::MeasuresInterruptions { .. } => "import.measures-interruptions",
            Self::MeasuresRelays { .. } => "import.measures-relays",
            Self::UnitAssumed { .. } => "import.unit-assumed",
            Self::SamplesLeftOut { .. } => "import.samples-left-out",
            Self::MixedHistogram => "import.mixed-histogram",
            Self::EndedEarly { .. } => "import.ended-early",
            Self::MaximumTruncated => "import.maximum-truncated",
            Self::ValuesRounded => "import.values-rounded",
            Self::MeanComputed => "import.mean-computed",
            Self::MeanRounded { .. } => "import.mean-rounded",
            Self::MeanDecimals { .. } => "import.mean-decimals",
        })
    }

    fn fix(&self) -> String {
        match self {
            Self::UnitAssumed { .. } => "import it with --unit ns if it was made with -N",
            Self::MixedHistogram => "measure with `rtla timerlat hist` itself",
            Self::MaximumTruncated => "import the whole output of the tool instead",
            _ => "",
        }
        .into()
    }
}

/// A contradiction within one thread of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadProblem {
    pub thread: usize,
    pub contradiction: Contradiction,
}

/// See [`ThreadProblem`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contradiction {
    MinimumNegative,
    MaximumInNoBucket { max: i128 },
    CountsDiffer { stated: u64, held: u64 },
    MaximumWrapped { max: i128 },
    MaximumBelowBuckets { max: i128 },
}

impl fmt::Display for ThreadProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "thread {}: {}", self.thread, self.contradiction)
    }
}

impl fmt::Display for Contradiction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MinimumNegative => out.write_str("its minimum is negative: the clock of the source went backwards"),
            Self::MaximumInNoBucket { max } => write!(
                out,
                "its maximum {max} is in no bucket although every wake-up is: the source contradicts itself"
            ),
            Self::CountsDiffer { stated, held } => {
                write!(out, "the source counts {stated} wake-ups but its histogram holds {held}; the latter is kept")
            }
            Self::MaximumWrapped { max } => write!(
                out,
                "its maximum {max} is a negative latency that wrapped around: the clock went backwards, and the source lost the true maximum"
            ),
            Self::MaximumBelowBuckets { max } => {
                write!(out, "its maximum {max} lies below its last bucket; the source contradicts itself")
            }
        }
    }
}

impl ProblemKind for ThreadProblem {
    fn code(&self) -> Code {
        self.contradiction.code()
    }
}

impl Contradiction {
    fn code(&self) -> Code {
        Code::new(match self {
            Self::MinimumNegative => "import.minimum-negative",
            Self::MaximumInNoBucket { .. } => "import.maximum-in-no-bucket",
            Self::CountsDiffer { .. } => "import.counts-differ",
            Self::MaximumWrapped { .. } => "import.maximum-wrapped",
            Self::MaximumBelowBuckets { .. } => "import.maximum-below-buckets",
        })
    }
}

/// What the source of an import does not contain; it is unknown, not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    CommandAndTime,
    CommandOfToolAndTime,
    Distribution,
    VersionMachineAndTime,
    ToolMachineAndTime,
    CpuOfThreads,
    CpuOfColumns,
    PartsOfLatency,
    TimeZone,
    BeyondLastRow,
    MissedPeriods,
    NegativeLatencies,
    Instants,
}

impl fmt::Display for Lost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::CommandAndTime => "the command line and the time of the run",
            Self::CommandOfToolAndTime => "the command line of the tool and when the run took place",
            Self::Distribution => "the distribution between minimum and maximum",
            Self::VersionMachineAndTime => {
                "the version and the command line of the tool, the machine, and when the run took place"
            }
            Self::ToolMachineAndTime => "the tool, its command line, the machine, and when the run took place",
            Self::CpuOfThreads => "on which CPU each thread ran; the CPUs shown are the numbers of the threads",
            Self::CpuOfColumns => "which CPU each column is; the CPUs shown are the numbers of the columns, from 0",
            Self::PartsOfLatency => "which latency is of the interrupt, of the thread, and of its return to user space",
            Self::TimeZone => "the time zone of the dates",
            Self::BeyondLastRow => "how many values lay beyond the last row, and how large they were",
            Self::MissedPeriods => "how many periods were missed because a wake-up came late by more than an interval",
            Self::NegativeLatencies => "how many samples had a negative latency because a clock misbehaved",
            Self::Instants => "when each wake-up happened",
        })
    }
}

impl ProblemKind for Lost {
    fn code(&self) -> Code {
        Code::new(match self {
            Self::CommandAndTime => "import.command-unknown",
            Self::CommandOfToolAndTime => "import.command-unknown",
            Self::Distribution => "import.distribution-unknown",
            Self::VersionMachineAndTime => "import.origin-unknown",
            Self::ToolMachineAndTime => "import.origin-unknown",
            Self::CpuOfThreads => "import.cpu-unknown",
            Self::CpuOfColumns => "import.cpu-unknown",
            Self::PartsOfLatency => "import.latency-parts-unknown",
            Self::TimeZone => "import.time-zone-unknown",
            Self::BeyondLastRow => "import.overflow-unknown",
            Self::MissedPeriods => "import.missed-periods-unknown",
            Self::NegativeLatencies => "import.clock-anomalies-unknown",
            Self::Instants => "import.instants-unknown",
        })
    }
}

/// Every code of this crate.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        code: "import.json-repaired",
        meaning: "The tool wrote a file that no JSON parser reads; the known defect was repaired while reading.",
        fix: "Update the tool to write valid files.",
    },
    Definition {
        code: "import.threads-missing",
        meaning: "The file does not hold as many threads as it says.",
        fix: "Import the whole, uncut file.",
    },
    Definition {
        code: "import.interrupt-latencies",
        meaning: "The figures end at the timer interrupt; the way to the thread is not in them.",
        fix: "Import the thread latencies with `--series thread`.",
    },
    Definition {
        code: "import.source-failed",
        meaning: "The tool ended with an error, so its figures must not be used.",
        fix: "Measure again.",
    },
    Definition {
        code: "import.bucket-width-assumed",
        meaning: "rtla does not write its bucket width; another one scales every latency.",
        fix: "Measure with the default width of 1 µs.",
    },
    Definition {
        code: "import.measures-interruptions",
        meaning: "The tool measures interruptions of a busy loop and no wake-ups.",
        fix: "Compare it with runs of the same tool only.",
    },
    Definition {
        code: "import.measures-relays",
        meaning: "The tool measures the time from one task to another and no timer wake-ups.",
        fix: "Compare it with runs of the same tool only.",
    },
    Definition {
        code: "import.unit-assumed",
        meaning: "The file does not state whether its latencies are in µs or ns.",
        fix: "Give the unit with `--unit`.",
    },
    Definition {
        code: "import.samples-left-out",
        meaning: "The samples beside the results could not be used; the figures come from the results alone.",
        fix: "Put the samples.raw of the same run beside the file.",
    },
    Definition {
        code: "import.mixed-histogram",
        meaning: "One histogram holds three kinds of latencies, which cannot be separated again.",
        fix: "Measure with `rtla timerlat hist` itself.",
    },
    Definition {
        code: "import.ended-early",
        meaning: "The source stopped before its time was over, often because a latency exceeded its limit.",
        fix: "Measure again without a limit to get the whole time.",
    },
    Definition {
        code: "import.maximum-truncated",
        meaning: "The columns end at a largest row; what lay beyond it is unknown.",
        fix: "Import the whole output of the tool instead.",
    },
    Definition {
        code: "import.values-rounded",
        meaning: "The source keeps whole microseconds.",
        fix: "Measure in ns where the tool can (`cyclictest -N`).",
    },
    Definition {
        code: "import.mean-computed",
        meaning: "The source gives no mean; it was computed from its histogram.",
        fix: "Nothing to do; the mean is as coarse as the values.",
    },
    Definition {
        code: "import.mean-rounded",
        meaning: "The source prints its mean without decimals.",
        fix: "Nothing to do; the mean is as coarse as it says.",
    },
    Definition {
        code: "import.mean-decimals",
        meaning: "The source prints its mean with few decimals.",
        fix: "Nothing to do; the mean is as exact as it says.",
    },
    Definition {
        code: "import.minimum-negative",
        meaning: "A latency below zero: the clock of the machine went backwards.",
        fix: "Look for the clock source of that machine, and measure again.",
    },
    Definition {
        code: "import.maximum-in-no-bucket",
        meaning: "The histogram holds every wake-up and none as late as the maximum.",
        fix: "Treat the file as damaged; measure again.",
    },
    Definition {
        code: "import.counts-differ",
        meaning: "The count of wake-ups is less than what the histogram holds. A few are a race in the tool, many are damage.",
        fix: "Measure again if many are apart.",
    },
    Definition {
        code: "import.maximum-wrapped",
        meaning: "A negative latency was stored as a huge one and replaced the true maximum, which nobody can restore.",
        fix: "Measure again with a clock that does not step.",
    },
    Definition {
        code: "import.maximum-below-buckets",
        meaning: "The histogram holds latencies above the maximum that the source prints.",
        fix: "Treat the file as damaged; measure again.",
    },
    Definition {
        code: "import.command-unknown",
        meaning: "The source does not keep its command line and when it ran.",
        fix: "Nothing to do; measure with `tardy run` to have it.",
    },
    Definition {
        code: "import.distribution-unknown",
        meaning: "The source keeps minimum, mean and maximum alone, so there are no quantiles.",
        fix: "Nothing to do; measure with `tardy run` to have it.",
    },
    Definition {
        code: "import.origin-unknown",
        meaning: "The source does not say by what, where and when it was measured.",
        fix: "Nothing to do; measure with `tardy run` to have it.",
    },
    Definition {
        code: "import.cpu-unknown",
        meaning: "The source does not say which CPU a thread or a column stands for.",
        fix: "Nothing to do; measure with `tardy run` to have it.",
    },
    Definition {
        code: "import.latency-parts-unknown",
        meaning: "The source mixes the latencies of interrupt, thread and return to user space.",
        fix: "Nothing to do; measure with `tardy run` to have it.",
    },
    Definition {
        code: "import.time-zone-unknown",
        meaning: "Dates of the source have no time zone; they are taken as UTC.",
        fix: "Nothing to do; measure with `tardy run` to have it.",
    },
    Definition {
        code: "import.overflow-unknown",
        meaning: "The histogram ends somewhere, and what lay beyond was not counted.",
        fix: "Nothing to do; measure with `tardy run` to have it.",
    },
    Definition {
        code: "import.missed-periods-unknown",
        meaning: "Other tools do not count the periods that a late wake-up skipped.",
        fix: "Nothing to do; measure with `tardy run` to have it.",
    },
    Definition {
        code: "import.clock-anomalies-unknown",
        meaning: "Other tools do not count samples with a negative latency.",
        fix: "Nothing to do; measure with `tardy run` to have it.",
    },
    Definition {
        code: "import.instants-unknown",
        meaning: "The source keeps no time of any sample, so there is no picture over time.",
        fix: "Nothing to do; measure with `tardy run` to have it.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_code_is_defined() {
        let problems = [
            ImportProblem::JsonRepaired,
            ImportProblem::ThreadsMissing { announced: 2.0, held: 1 },
            ImportProblem::InterruptLatencies,
            ImportProblem::SourceFailed { code: 1 },
            ImportProblem::BucketWidthAssumed,
            ImportProblem::MeasuresInterruptions { tool: String::new() },
            ImportProblem::MeasuresRelays { tool: String::new() },
            ImportProblem::UnitAssumed { symbol: "µs" },
            ImportProblem::SamplesLeftOut { why: SamplesLack::Empty },
            ImportProblem::MixedHistogram,
            ImportProblem::EndedEarly { reason: String::new(), latency: None },
            ImportProblem::MaximumTruncated,
            ImportProblem::ValuesRounded,
            ImportProblem::MeanComputed,
            ImportProblem::MeanRounded { symbol: "µs" },
            ImportProblem::MeanDecimals { decimals: 1, symbol: "µs" },
        ];
        let contradictions = [
            Contradiction::MinimumNegative,
            Contradiction::MaximumInNoBucket { max: 1 },
            Contradiction::CountsDiffer { stated: 1, held: 1 },
            Contradiction::MaximumWrapped { max: 1 },
            Contradiction::MaximumBelowBuckets { max: 1 },
        ];
        let lost = [
            Lost::CommandAndTime,
            Lost::CommandOfToolAndTime,
            Lost::Distribution,
            Lost::VersionMachineAndTime,
            Lost::ToolMachineAndTime,
            Lost::CpuOfThreads,
            Lost::CpuOfColumns,
            Lost::PartsOfLatency,
            Lost::TimeZone,
            Lost::BeyondLastRow,
            Lost::MissedPeriods,
            Lost::NegativeLatencies,
            Lost::Instants,
        ];
        let codes = problems.iter().map(ProblemKind::code).chain(contradictions.iter().map(Contradiction::code));
        let codes: BTreeSet<String> =
            codes.chain(lost.iter().map(ProblemKind::code)).map(|code| code.as_str().to_owned()).collect();
        let defined: BTreeSet<String> = DEFINITIONS.iter().map(|definition| definition.code.to_owned()).collect();
        assert_eq!(codes, defined);
        assert_eq!(defined.len(), DEFINITIONS.len(), "one definition a code");
    }
}
