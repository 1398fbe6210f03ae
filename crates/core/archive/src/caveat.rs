//! Limits of the account of a late sample, with their codes.

use crate::culprit::if_known;
use crate::method::SampleWord;
use crate::problem::{Code, Problem, Remark};
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// A limit of an account with its words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredCaveat")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Caveat {
    pub code: Code,
    pub text: String,
    /// `None` in archives of older versions, and if a newer version wrote facts that this one does not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<Limit>,
}

impl Caveat {
    pub fn new(limit: Limit) -> Self {
        Self { facts: Some(limit.clone()), ..Self::from(Remark::new(&limit)) }
    }
}

impl From<Remark> for Caveat {
    fn from(Remark { code, text }: Remark) -> Self {
        Self { code, text, facts: None }
    }
}

impl fmt::Display for Caveat {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

/// A caveat in the format of any archive version.
#[derive(Deserialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
enum StoredCaveat {
    Text(String),
    Coded {
        code: Code,
        text: String,
        #[serde(default, deserialize_with = "if_known")]
        facts: Option<Limit>,
    },
}

impl From<StoredCaveat> for Caveat {
    fn from(stored: StoredCaveat) -> Self {
        match stored {
            StoredCaveat::Text(text) => Self { code: Code::UNCLASSIFIED, text, facts: None },
            StoredCaveat::Coded { code, text, facts } => Self { code, text, facts },
        }
    }
}

/// A limit of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Error, Problem)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Limit {
    #[error("the sample makes no sense: the clock was stepped or the record is damaged")]
    #[problem(
        code = "explain.sample-invalid",
        meaning = "A sample has a negative latency or one of more than a day: the clock was stepped, or the record is \
                   damaged.",
        fix = "discard the sample; measure with CLOCK_MONOTONIC and keep the machine awake"
    )]
    SampleInvalid,
    #[error("no snapshot: {0}")]
    #[problem(
        code = "explain.no-snapshot",
        meaning = "No trace was kept around this sample.",
        fix = "allow more snapshots with `--snapshots`, or fix the reason that the message gives"
    )]
    NoSnapshot(String),
    #[error("the trace is damaged: {0}")]
    #[problem(
        code = "explain.trace-damaged",
        meaning = "A part of the trace is damaged or missing; the account uses the rest.",
        fix = "measure again, or restore the archive from a copy"
    )]
    TraceDamaged(String),
    #[error("the trace clock is {0}, not mono: times may not match the sample")]
    #[problem(
        code = "explain.trace-clock",
        meaning = "The trace was recorded with another clock than CLOCK_MONOTONIC, so its times may not match the \
                   sample.",
        fix = "record with the trace clock `mono`"
    )]
    ClockNotMono(String),
    #[error("{} lost inside the window", lost(*.cpu, *.count))]
    #[problem(
        code = "explain.events-lost",
        meaning = "The kernel overwrote or dropped events inside the window.",
        fix = "use larger trace buffers, or record fewer events"
    )]
    EventsLost { cpu: u32, count: Option<u64> },
    #[error(
        "the trace misses {} of CPU {cpu} in the window{}",
        number(*.count, "thread switch", "thread switches"),
        inferred_words(*.count, *.inferred)
    )]
    #[problem(
        code = "explain.switches-missing",
        meaning = "The trace misses thread switches that must have happened.",
        fix = "nothing; stretches without proof stay untraced"
    )]
    SwitchesMissing { cpu: u32, count: u64, inferred: usize },
    #[error("no events from CPU {0} in the window")]
    #[problem(
        code = "explain.cpu-not-traced",
        meaning = "The trace has no event of the CPU of this sample in the window.",
        fix = "use larger trace buffers, and trace this CPU"
    )]
    NothingOfCpu(u32),
    #[error("the trace of CPU {cpu} starts {:.1} µs after {}", *.late_ns as f64 / 1e3, .sample.begun)]
    #[problem(
        code = "explain.trace-starts-late",
        meaning = "The trace starts after the instant from which the latency counts; the time before is untraced.",
        fix = "use larger trace buffers"
    )]
    StartsLate {
        cpu: u32,
        late_ns: i64,
        /// The method of the run has it.
        #[serde(skip)]
        #[cfg_attr(feature = "typescript", ts(skip))]
        sample: SampleWord,
    },
    #[error("the trace lacks the events {}", .0.join(", "))]
    #[problem(
        code = "explain.events-absent",
        meaning = "The trace lacks events without which the phases cannot be separated.",
        fix = "record them; `tardy run` does by itself"
    )]
    EventsAbsent(Vec<String>),
    #[error("the trace lacks events of interrupts: the time of one counts as the time of the thread below it")]
    #[problem(
        code = "explain.interrupts-not-recorded",
        meaning = "Another tool recorded the trace without all events of interrupts, so nothing is blamed on one, and a thread may \
                   have had the CPU for less than it seems.",
        fix = "record the groups `irq` and `irq_vectors` as well"
    )]
    InterruptsNotRecorded,
    #[error(
        "the trace lacks events of softirqs: the time of one counts as the time of the thread or interrupt below it"
    )]
    #[problem(
        code = "explain.softirqs-not-recorded",
        meaning = "Another tool recorded the trace without events of softirqs, so nothing is blamed on one.",
        fix = "record the group `irq` as well"
    )]
    SoftirqsNotRecorded,
    #[error("times of the trace are multiples of {:.0} µs: each figure is uncertain by as much", *.0 as f64 / 1e3)]
    #[problem(
        code = "explain.times-rounded",
        meaning = "The recording is a text that prints times in µs.",
        fix = "keep the trace itself instead of its text"
    )]
    TimesRounded(i64),
    #[error("times of the trace became CLOCK_MONOTONIC by the timers' own clock, uncertain by {:.1} µs", *.0 as f64 / 1e3)]
    #[problem(
        code = "explain.clock-converted",
        meaning = "The trace was recorded with another clock than the timers use; each expired timer shows both.",
        fix = "record with the trace clock `mono`"
    )]
    ClockConverted(i64),
    #[error("the record starts {:.1} µs after {}", *.late_ns as f64 / 1e3, .sample.begun)]
    #[problem(same_as = StartsLate)]
    RecordStartsLate {
        late_ns: i64,
        /// The method of the run has it.
        #[serde(skip)]
        #[cfg_attr(feature = "typescript", ts(skip))]
        sample: SampleWord,
    },
    #[error("the record does not show where the thread read the clock; times may be off by 100 ns")]
    #[problem(
        code = "explain.clock-read-not-seen",
        meaning = "A flight record does not show where the thread read the clock; times may be off by 100 ns.",
        fix = "nothing"
    )]
    ClockReadNotSeen,
    #[error("the file is not a flight record")]
    #[problem(same_as = TraceDamaged)]
    NotAFlightRecord,
    #[error("the flight record is of version {0}, this program may not know all of it")]
    #[problem(
        code = "explain.newer-flight-record",
        meaning = "A newer version wrote the flight record.",
        fix = "use the version that wrote it, or a newer one"
    )]
    FlightVersion(u64),
    #[error("the flight record is damaged")]
    #[problem(same_as = TraceDamaged)]
    FlightDamaged,
    #[error("the flight record has no names of functions")]
    #[problem(
        code = "explain.no-function-names",
        meaning = "A flight record has no names of kernel functions.",
        fix = "record again with a kernel that shows /proc/kallsyms"
    )]
    NoFunctionNames,
    #[error(
        "the host reports {} in which it did not run a CPU that recorded events meanwhile; the account ignores such a report",
        number(*.0 as u64, "stretch", "stretches")
    )]
    #[problem(
        code = "explain.host-contradicted",
        meaning = "The host reports that it did not run a CPU while that CPU recorded events; the report is ignored.",
        fix = "nothing; look at the clocks of host and guest if it repeats"
    )]
    AbsencesContradicted(usize),
    #[error("this latency was not above the median: there is nothing to explain")]
    #[problem(
        code = "explain.not-late",
        meaning = "The latency was not above the median, so there is nothing to explain.",
        fix = "nothing"
    )]
    NotLate,
    /// With the error of the file.
    #[error("{0}")]
    #[problem(
        code = "explain.trace-unreadable",
        meaning = "The file of a snapshot cannot be read.",
        fix = "restore the archive from a copy; the message names the file"
    )]
    TraceUnreadable(String),
}

fn number(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn lost(cpu: u32, count: Option<u64>) -> String {
    match count {
        None => format!("an unknown number of events of CPU {cpu} were"),
        Some(1) => format!("1 event of CPU {cpu} was"),
        Some(count) => format!("{count} events of CPU {cpu} were"),
    }
}

fn inferred_words(missing: u64, inferred: usize) -> String {
    let after = match (missing, inferred) {
        (_, 0) => return String::new(),
        (1, _) => "it".into(),
        (_, inferred) if inferred as u64 >= missing => "each".into(),
        (_, inferred) => format!("{inferred} of them"),
    };
    format!("; which thread had the CPU after {after} is inferred from the records around it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use fixtures::assert_sentence;
    use serde_json::{from_value, json, to_value};

    #[test]
    fn caveats_of_older_versions_have_no_facts() {
        let sentence: Caveat = from_value(json!("a sentence")).unwrap();
        let coded: Caveat = from_value(json!({"code": "explain.trace-clock", "text": "said"})).unwrap();
        let newer = json!({"code": "explain.tide", "text": "said", "facts": {"tide": {"high": true}}});
        let newer: Caveat = from_value(newer).unwrap();
        assert_eq!((sentence.code, sentence.text.as_str(), sentence.facts), (Code::UNCLASSIFIED, "a sentence", None));
        assert_eq!((coded.facts, newer.facts, newer.text.as_str()), (None, None, "said"));
    }

    #[test]
    fn numbers_and_verbs_agree() {
        let text = |limit| Caveat::new(limit).text;
        let missing = |count, inferred| text(Limit::SwitchesMissing { cpu: 1, count, inferred });
        let all = [(1, 1), (1, 0), (3, 1), (3, 3)].map(|(count, inferred)| missing(count, inferred));
        assert_sentence!("switches-missing", all.join("\n"));
        assert!(text(Limit::EventsLost { cpu: 1, count: Some(1) }).starts_with("1 event of CPU 1 was"));
        assert!(text(Limit::AbsencesContradicted(1)).contains("1 stretch in"));
    }

    #[test]
    fn facts_are_stored_beside_the_sentence() {
        for limit in [Limit::EventsLost { cpu: 1, count: Some(7) }, Limit::NotLate, Limit::FlightVersion(9)] {
            let caveat = Caveat::new(limit);
            assert_eq!(from_value::<Caveat>(to_value(&caveat).unwrap()).unwrap(), caveat);
        }
    }
}
