//! The data of a result file, in the file's own unit and with its gaps.

use super::ImportFormat;
use super::problem::{ImportProblem, Lost};
use archive::environment::Environment;
use archive::measured::Measured;
use archive::message::{Loss, Problem, Severity};
use archive::problem::Remark;
use archive::sample::{Sample, Second};
use std::collections::BTreeMap;

/// The unit of a file's latencies. The tools divide and drop the remainder, so values are rounded down to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unit {
    #[default]
    Us,
    Ns,
}

impl Unit {
    pub fn ns(self) -> i64 {
        match self {
            Self::Us => 1000,
            Self::Ns => 1,
        }
    }

    pub fn symbol(self) -> &'static str {
        match self {
            Self::Us => "µs",
            Self::Ns => "ns",
        }
    }
}

/// Selects one of a file's two distributions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Series {
    /// Latency of the woken thread
    #[default]
    Thread,
    /// Latency of the timer interrupt alone, which rtla keeps apart
    Irq,
}

/// A mean as printed in the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    pub value: f64,
    /// Rounded to this number of decimals; `None` if not rounded.
    pub decimals: Option<u32>,
}

/// One thread, in the file's unit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SourceThread {
    pub cpu: Option<u32>,
    /// Lower edge of each bucket, with its count.
    pub buckets: BTreeMap<u64, u64>,
    /// All wake-ups; `None` for those in the buckets and `beyond`.
    pub cycles: Option<u64>,
    /// Wake-ups beyond the histogram, if the file counts them.
    pub beyond: Option<u64>,
    /// Other facts about them, as text.
    pub beyond_detail: String,
    pub min: Option<i128>,
    pub max: Option<i128>,
    /// `None`: computed from the buckets.
    pub mean: Option<Mean>,
    pub seconds: Vec<Second>,
    /// Largest first.
    pub worst: Vec<Sample>,
}

impl SourceThread {
    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.cycles.unwrap_or(0) == 0 && self.beyond.unwrap_or(0) == 0 && self.buckets.values().all(|count| *count == 0)
    }
}

/// All data of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    pub format: &'static dyn ImportFormat,
    pub tool: String,
    pub version: Option<String>,
    pub command: Option<String>,
    pub started_unix_ns: Option<i64>,
    pub ended_unix_ns: Option<i64>,
    /// First and last instant of the samples, CLOCK_MONOTONIC in ns, if samples have times.
    pub measured: Option<(i64, i64)>,
    /// How long the run took, if the file says so and its samples have no times.
    pub length_ns: Option<i64>,
    pub environment: Option<Environment>,
    pub unit: Unit,
    /// Width of a bucket in units.
    pub bucket_units: u64,
    pub measures: Measured,
    /// Whether larger values may have been cut off.
    pub maximum_truncated: bool,
    pub threads: Vec<SourceThread>,
    /// Upper bound of the histogram's latencies, exclusive, if the file states it.
    pub histogram_end: Option<u64>,
    pub lost: Vec<Remark>,
    pub stated: Vec<String>,
    pub losses: Vec<Loss>,
    pub problems: Vec<Problem>,
}

impl Source {
    /// A source with only its format and tool.
    pub fn new(format: &'static dyn ImportFormat, tool: &str, unit: Unit) -> Self {
        Self {
            format,
            tool: tool.into(),
            version: None,
            command: None,
            started_unix_ns: None,
            ended_unix_ns: None,
            measured: None,
            length_ns: None,
            environment: None,
            unit,
            bucket_units: 1,
            measures: Measured::default(),
            maximum_truncated: false,
            threads: Vec::new(),
            histogram_end: None,
            lost: Vec::new(),
            stated: Vec::new(),
            losses: Vec::new(),
            problems: Vec::new(),
        }
    }

    pub fn lost(&mut self, what: Lost) {
        self.lost.push(Remark::new(&what));
    }

    pub fn stated(&mut self, what: impl Into<String>) {
        self.stated.push(what.into());
    }

    pub fn problem(&mut self, severity: Severity, problem: &ImportProblem) {
        self.problems.push(Problem::new(severity, problem));
    }

    pub fn lasted_ns(&mut self, ns: Option<i64>) {
        self.length_ns = ns.filter(|ns| *ns > 0);
    }

    /// The length from start to end of the tool, which notes both in whole seconds.
    pub fn lasted_from_start_to_end(&mut self) {
        let length = |(start, end): (i64, i64)| end.checked_sub(start);
        self.lasted_ns(self.started_unix_ns.zip(self.ended_unix_ns).and_then(length));
        if self.length_ns.is_some() {
            self.stated("the length is the time from start to end, to 1 s, set-up included");
        }
    }

    pub fn maximum_is_truncated(&mut self) {
        self.maximum_truncated = true;
        self.lost(Lost::BeyondLastRow);
        self.problem(Severity::Degraded, &ImportProblem::MaximumTruncated);
    }

    /// Sets what the figures are latencies of, by the tool.
    pub fn measures(&mut self, what: Measured) {
        self.measures = what;
        let tool = self.tool.clone();
        match what {
            Measured::WakeUps => {}
            Measured::Interruptions => {
                self.problem(Severity::Degraded, &ImportProblem::MeasuresInterruptions { tool });
            }
            Measured::HandOvers => self.problem(Severity::Degraded, &ImportProblem::MeasuresRelays { tool }),
        }
    }

    /// Sets the unit from the user's choice if the file has none, and records that.
    pub fn assume_unit(&mut self, asked: Option<Unit>) {
        self.unit = asked.unwrap_or_default();
        let symbol = self.unit.symbol();
        match asked {
            Some(_) => self.stated(format!("the unit {symbol} was given at the import")),
            None => self.problem(Severity::Notice, &ImportProblem::UnitAssumed { symbol }),
        }
    }
}
