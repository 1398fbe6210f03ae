//! Limits of the account of a wake-up, with their codes.

use archive::method::SampleWord;
use archive::problem::{Code, Definition, ProblemKind};
use thiserror::Error;

/// A limit of an account.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Limit {
    #[error("the sample makes no sense: the clock was stepped or the record is damaged")]
    SampleInvalid,
    #[error("no snapshot: {0}")]
    NoSnapshot(String),
    #[error("the trace is damaged: {0}")]
    TraceDamaged(String),
    #[error("the trace clock is {0}, not mono: times may not match the sample")]
    ClockNotMono(String),
    #[error("{} of CPU {cpu} were lost inside the window", lost(*.count))]
    EventsLost { cpu: u32, count: Option<u64> },
    #[error("the trace misses {count} thread switches of CPU {cpu} in the window{}", inferred_words(*.inferred))]
    SwitchesMissing { cpu: u32, count: u64, inferred: usize },
    #[error("the trace has nothing of CPU {0} in the window")]
    NothingOfCpu(u32),
    #[error("the trace of CPU {cpu} starts {:.1} µs after {}", *.late_ns as f64 / 1e3, .sample.begun)]
    StartsLate { cpu: u32, late_ns: i64, sample: SampleWord },
    #[error("the trace lacks the events {0}")]
    EventsAbsent(String),
    #[error("the record starts {:.1} µs after {}", *.late_ns as f64 / 1e3, .sample.begun)]
    RecordStartsLate { late_ns: i64, sample: SampleWord },
    #[error("the record does not show where the thread read the clock; times may be off by 100 ns")]
    ClockReadNotSeen,
    #[error("the file is not a flight record")]
    NotAFlightRecord,
    #[error("the flight record is of version {0}, this program may not know all of it")]
    FlightVersion(u64),
    #[error("the flight record is damaged")]
    FlightDamaged,
    #[error("the flight record has no names of functions")]
    NoFunctionNames,
    #[error(
        "the host reports {0} stretches in which it did not run a CPU that recorded events meanwhile; they are not taken into \
         account"
    )]
    AbsencesContradicted(usize),
    #[error("this latency was not above the median: there is nothing to explain")]
    NotLate,
}

fn lost(count: Option<u64>) -> String {
    count.map_or_else(|| "an unknown number of events".into(), |count| format!("{count} events"))
}

fn inferred_words(inferred: usize) -> String {
    match inferred {
        0 => String::new(),
        _ => format!("; which thread had the CPU after {inferred} of them is inferred from the records around it"),
    }
}

impl ProblemKind for Limit {
    fn code(&self) -> Code {
        Code::new(match self {
            Self::SampleInvalid => "explain.sample-invalid",
            Self::NoSnapshot(_) => "explain.no-snapshot",
            Self::TraceDamaged(_) | Self::NotAFlightRecord | Self::FlightDamaged => "explain.trace-damaged",
            Self::ClockNotMono(_) => "explain.trace-clock",
            Self::EventsLost { .. } => "explain.events-lost",
            Self::SwitchesMissing { .. } => "explain.switches-missing",
            Self::NothingOfCpu(_) => "explain.cpu-not-traced",
            Self::StartsLate { .. } | Self::RecordStartsLate { .. } => "explain.trace-starts-late",
            Self::EventsAbsent(_) => "explain.events-absent",
            Self::ClockReadNotSeen => "explain.clock-read-not-seen",
            Self::FlightVersion(_) => "explain.newer-flight-record",
            Self::NoFunctionNames => "explain.no-function-names",
            Self::AbsencesContradicted(_) => "explain.host-contradicted",
            Self::NotLate => "explain.not-late",
        })
    }
}

/// Every code of this crate.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        code: "explain.sample-invalid",
        meaning: "A sample has a negative latency or one of more than a day: the clock was stepped, or the record is damaged.",
        fix: "Discard the sample; measure with CLOCK_MONOTONIC and keep the machine awake.",
    },
    Definition {
        code: "explain.no-snapshot",
        meaning: "No trace was kept around this sample.",
        fix: "Allow more snapshots with `--snapshots`, or fix the reason that the message gives.",
    },
    Definition {
        code: "explain.trace-damaged",
        meaning: "A part of the trace is damaged or missing; the account uses the rest.",
        fix: "Measure again, or restore the archive from a copy.",
    },
    Definition {
        code: "explain.trace-clock",
        meaning: "The trace was recorded with another clock than CLOCK_MONOTONIC, so its times may not match the sample.",
        fix: "Record with the trace clock `mono`.",
    },
    Definition {
        code: "explain.events-lost",
        meaning: "The kernel overwrote or dropped events inside the window.",
        fix: "Use larger trace buffers, or record fewer events.",
    },
    Definition {
        code: "explain.switches-missing",
        meaning: "The trace misses thread switches that must have happened.",
        fix: "Nothing; stretches without proof stay untraced.",
    },
    Definition {
        code: "explain.cpu-not-traced",
        meaning: "The trace has no event of the CPU of this sample in the window.",
        fix: "Use larger trace buffers, and trace this CPU.",
    },
    Definition {
        code: "explain.trace-starts-late",
        meaning: "The trace starts after the instant from which the latency counts; the time before is untraced.",
        fix: "Use larger trace buffers.",
    },
    Definition {
        code: "explain.events-absent",
        meaning: "The trace lacks events without which the phases cannot be separated.",
        fix: "Record them; `tardy run` does by itself.",
    },
    Definition {
        code: "explain.clock-read-not-seen",
        meaning: "A flight record does not show where the thread read the clock; times may be off by 100 ns.",
        fix: "Nothing.",
    },
    Definition {
        code: "explain.newer-flight-record",
        meaning: "A newer version wrote the flight record.",
        fix: "Use the version that wrote it, or a newer one.",
    },
    Definition {
        code: "explain.no-function-names",
        meaning: "A flight record has no names of kernel functions.",
        fix: "Record again with a kernel that shows /proc/kallsyms.",
    },
    Definition {
        code: "explain.host-contradicted",
        meaning: "The host reports that it did not run a CPU while that CPU recorded events; the report is ignored.",
        fix: "Nothing; look at the clocks of host and guest if it repeats.",
    },
    Definition {
        code: "explain.not-late",
        meaning: "The latency was not above the median, so there is nothing to explain.",
        fix: "Nothing.",
    },
    Definition {
        code: "explain.trace-unreadable",
        meaning: "The file of a snapshot cannot be read.",
        fix: "Restore the archive from a copy; the message names the file.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_one_definition() {
        let text = String::new;
        let limits = [
            Limit::SampleInvalid,
            Limit::NoSnapshot(text()),
            Limit::TraceDamaged(text()),
            Limit::ClockNotMono(text()),
            Limit::EventsLost { cpu: 0, count: None },
            Limit::SwitchesMissing { cpu: 0, count: 1, inferred: 0 },
            Limit::NothingOfCpu(0),
            Limit::StartsLate { cpu: 0, late_ns: 1, sample: SampleWord::default() },
            Limit::EventsAbsent(text()),
            Limit::RecordStartsLate { late_ns: 1, sample: SampleWord::default() },
            Limit::ClockReadNotSeen,
            Limit::NotAFlightRecord,
            Limit::FlightVersion(9),
            Limit::FlightDamaged,
            Limit::NoFunctionNames,
            Limit::AbsencesContradicted(1),
            Limit::NotLate,
        ];
        for limit in limits {
            let count = DEFINITIONS.iter().filter(|definition| limit.code() == definition.code).count();
            assert_eq!(count, 1, "{}", limit.code());
        }
    }
}
