//! Counts of lost data. No decision depends on the words.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A number of lost records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Loss {
    /// `trace events`, `snapshots`, `seconds`, `samples`, `frames` ...
    #[serde(rename = "what")]
    #[cfg_attr(feature = "typescript", ts(as = "String"))]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub kind: LossKind,
    pub count: u64,
    pub detail: String,
}

/// Kind of a loss. Stored as the words that a user sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum LossKind {
    /// Seconds, spikes or samples of a measuring thread.
    Records,
    Snapshots,
    LatencyTraces,
    /// Of the trace.
    Events,
    WakeUps,
    /// Stimuli without a response: no signal, and so no latency.
    Answers,
    /// Responses without a stimulus, or the second response to one.
    StrayAnswers,
    /// Of interrupts: the kernel counted them but did not write when they came, and so there is no latency.
    TimeStamps,
    /// Times that a sound card ran out of frames, or of room for them.
    Xruns,
    Messages,
    Frames,
    LineBytes,
    Files,
    FileBytes,
    /// Values of an import of which only the number is known, or that they exceeded a bound.
    Values,
    OverflowValues,
    CountedWakeUps,
    /// A kind of another version of this program.
    Other(String),
}

const NAMES: [(LossKind, &str); 17] = [
    (LossKind::Records, "records"),
    (LossKind::Snapshots, "snapshots"),
    (LossKind::LatencyTraces, "latency traces"),
    (LossKind::Events, "events"),
    (LossKind::WakeUps, "wake-ups"),
    (LossKind::Answers, "answers"),
    (LossKind::StrayAnswers, "stray answers"),
    (LossKind::TimeStamps, "time stamps"),
    (LossKind::Xruns, "xruns"),
    (LossKind::Messages, "messages"),
    (LossKind::Frames, "frames"),
    (LossKind::LineBytes, "bytes on the line"),
    (LossKind::Files, "files"),
    (LossKind::FileBytes, "file bytes"),
    (LossKind::Values, "values"),
    (LossKind::OverflowValues, "overflow values"),
    (LossKind::CountedWakeUps, "counted wake-ups"),
];

impl LossKind {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Other(name) => name,
            known => NAMES.iter().find(|(kind, _)| kind == known).map_or("", |(_, name)| name),
        }
    }
}

impl fmt::Display for LossKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

impl From<String> for LossKind {
    fn from(name: String) -> Self {
        let known = NAMES.into_iter().find(|(_, known)| *known == name);
        known.map_or(Self::Other(name), |(kind, _)| kind)
    }
}

impl From<LossKind> for String {
    fn from(kind: LossKind) -> Self {
        kind.as_str().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_stored_in_the_words_of_older_archives() {
        for (kind, name) in NAMES {
            let stored = format!(r#"{{"what":"{name}","count":1,"detail":""}}"#);
            let loss: Loss = serde_json::from_str(&stored).unwrap();
            assert_eq!(loss.kind, kind);
            assert_eq!(serde_json::to_string(&loss).unwrap(), stored);
        }
    }

    #[test]
    fn an_unknown_loss_keeps_its_name() {
        let loss: Loss = serde_json::from_str(r#"{"what":"trace events","count":1,"detail":""}"#).unwrap();
        assert_eq!((loss.kind.as_str(), &loss.kind), ("trace events", &LossKind::Other("trace events".into())));
    }
}
