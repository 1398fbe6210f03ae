//! `manifest.json`: describes a run archive, readable without any tool.

use crate::ARCHIVE_VERSION;
use crate::measured::Measured;
use crate::problem::{Code, Problem, Remark, Severity};
use crate::settings::RunSettings;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The target of a run on the machine that tardy runs on.
pub const LOCAL: &str = "local";

/// State of the run as the host knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RunState {
    /// Being written, or the writer was killed.
    Running,
    /// Ended as requested.
    Complete,
    /// Ended early by the user or a signal; the recorded part is valid.
    Interrupted,
    /// Something failed; `problem` states what.
    Failed,
}

/// Origin of a run that another tool measured, and what that tool did not record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImportedFrom {
    /// The measuring tool, as far as the file states it: `cyclictest`, `jitterdebugger`, `rteval` ...
    pub tool: String,
    pub version: Option<String>,
    /// Name of the imported file, without its directory.
    pub file_name: String,
    /// How the file was read: `rt-tests-json`, `cyclictest-text` ...
    pub format: String,
    /// The source rounded every latency down to a multiple of this.
    pub resolution_ns: u64,
    /// For a recording whose clock was converted to CLOCK_MONOTONIC: how uncertain its instants are.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub clock_spread_ns: Option<i64>,
    /// Start and end according to the source, including its set-up.
    pub started_unix_ns: Option<i64>,
    pub ended_unix_ns: Option<i64>,
    pub imported_unix_ns: i64,
    #[serde(skip_serializing_if = "Measured::is_default")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub measures: Measured,
    /// Values beyond the maximum may have been cut off: it is the least that the true one can be.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub maximum_truncated: bool,
    /// Fields that the source did not record. Everything listed here is unknown, not zero.
    pub lost: Vec<Remark>,
    /// Statements of the source for which this archive has no other field, a phrase each.
    pub stated: Vec<String>,
}

/// An archive that was made anonymous for others: it has no raw traces, and its explanations are those of who published it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Published {
    /// Version of the rules by which names were replaced.
    pub rules_version: u32,
}

/// The first file to be written and the last to be rewritten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Manifest {
    pub archive_version: u32,
    pub id: String,
    pub tool_version: String,
    /// The command line as typed; for an imported run the one in its source, otherwise empty.
    pub command: Vec<String>,
    pub target: String,
    /// A program emulated the machine: its latencies are meaningless as real-time figures.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub emulated: bool,
    /// The machine's clock counted the instructions it executed; `emulated` is true as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub virtual_time: bool,
    /// Ingredients of such a machine, by name: checksums of its files, its settings. The same ingredients and the
    /// same settings of the run give the same samples. Empty if that is not guaranteed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ingredients: BTreeMap<String, String>,
    /// Wall clock of the host in ns since 1970; the time of the import if an imported file has none.
    pub started_unix_ns: i64,
    pub ended_unix_ns: Option<i64>,
    pub state: RunState,
    /// The problem that failed the run or ended it early. Older archives have only its text.
    #[serde(default, deserialize_with = "problem_or_its_text")]
    pub problem: Option<Problem>,
    /// `None` if another tool measured: its settings are not fully known.
    #[serde(default)]
    pub settings: Option<RunSettings>,
    /// `None` if this tool measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportedFrom>,
    /// `None` if the archive is as it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub published: Option<Published>,
}

impl Manifest {
    /// The manifest of a run that begins.
    pub fn new(id: impl Into<String>, tool_version: impl Into<String>, target: impl Into<String>) -> Self {
        Self {
            archive_version: ARCHIVE_VERSION,
            id: id.into(),
            tool_version: tool_version.into(),
            command: Vec::new(),
            target: target.into(),
            emulated: false,
            virtual_time: false,
            ingredients: BTreeMap::new(),
            started_unix_ns: 0,
            ended_unix_ns: None,
            state: RunState::Running,
            problem: None,
            settings: None,
            imported: None,
            published: None,
        }
    }

    /// From its start to its end on the clock of the host; zero before the end.
    pub fn lasted(&self) -> Duration {
        let ns = self.ended_unix_ns.map_or(0, |ended| ended.saturating_sub(self.started_unix_ns));
        Duration::from_nanos(ns.try_into().unwrap_or(0))
    }
}

fn problem_or_its_text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Problem>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Problem(Problem),
        Text(String),
    }
    Ok(Option::<Written>::deserialize(from)?.map(|written| match written {
        Written::Problem(problem) => problem,
        Written::Text(text) => {
            Problem { code: Code::UNCLASSIFIED, severity: Severity::Invalid, text, fix: String::new() }
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Holder {
        #[serde(default, deserialize_with = "problem_or_its_text")]
        problem: Option<Problem>,
    }

    #[test]
    fn a_problem_that_is_only_a_text_still_opens() {
        let read = |text: &str| serde_json::from_str::<Holder>(text).unwrap().problem;
        let old = read(r#"{"problem":"a text"}"#).unwrap();
        assert_eq!((old.code, old.text.as_str()), (Code::UNCLASSIFIED, "a text"));
        assert_eq!((read(r#"{"problem":null}"#), read("{}")), (None, None));
        let problem = Problem {
            code: Code::new("run.meter-died"),
            severity: Severity::Invalid,
            text: "the meter died".into(),
            fix: String::new(),
        };
        let written = serde_json::to_string(&Holder { problem: Some(problem.clone()) }).unwrap();
        assert!(written.contains("run.meter-died"), "{written}");
        assert_eq!(read(&written), Some(problem));
    }
}
