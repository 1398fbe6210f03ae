//! Units of the compared figures.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The unit of a figure. Stored as its `Display`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum Unit {
    /// `ns`.
    Nanoseconds,
    /// `a run`: events counted over one run.
    PerRun,
    /// `an hour`, in a history.
    AnHour,
    /// `1/h`, in a comparison of two runs.
    PerHour,
    /// Work of a load per second: `messages/s`.
    Work(String),
}

impl Unit {
    /// Work of a load per second, in the unit that the load counts.
    pub fn work(counts: &str) -> Self {
        Self::Work(format!("{counts}/s"))
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Nanoseconds => "ns",
            Self::PerRun => "a run",
            Self::AnHour => "an hour",
            Self::PerHour => "1/h",
            Self::Work(work) => work,
        })
    }
}

impl From<Unit> for String {
    fn from(unit: Unit) -> Self {
        unit.to_string()
    }
}

impl From<String> for Unit {
    fn from(unit: String) -> Self {
        match unit.as_str() {
            "ns" => Self::Nanoseconds,
            "a run" => Self::PerRun,
            "an hour" => Self::AnHour,
            "1/h" => Self::PerHour,
            _ => Self::Work(unit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_stored_as_they_are_shown() {
        for unit in [Unit::Nanoseconds, Unit::PerRun, Unit::AnHour, Unit::PerHour, Unit::work("messages")] {
            let stored = serde_json::to_value(&unit).unwrap();
            assert_eq!(stored, serde_json::json!(unit.to_string()));
            assert_eq!(serde_json::from_value::<Unit>(stored).unwrap(), unit);
        }
    }
}
