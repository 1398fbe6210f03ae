//! Names of the figures that comparisons use.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A figure of a run. Stored as its `Display`: `p99.9`, `max`, `missed periods`, `load messaging`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum FigureName {
    P50,
    P99,
    P99_9,
    P99_99,
    P99_999,
    Max,
    MissedPeriods,
    OverLimit,
    /// The work of a load, by the name of the load.
    Load(String),
}

/// Prefix of the figures of loads.
const LOAD_PREFIX: &str = "load ";

impl FigureName {
    /// The compared quantiles, with the share of samples below each.
    pub const QUANTILES: [(Self, f64); 5] =
        [(Self::P50, 0.5), (Self::P99, 0.99), (Self::P99_9, 0.999), (Self::P99_99, 0.9999), (Self::P99_999, 0.99999)];

    pub fn is_quantile(&self) -> bool {
        matches!(self, Self::P50 | Self::P99 | Self::P99_9 | Self::P99_99 | Self::P99_999)
    }

    /// The load whose work this is, if any.
    pub fn load(&self) -> Option<&str> {
        match self {
            Self::Load(name) => Some(name),
            _ => None,
        }
    }

    /// The name inside a table of loads: `messaging`.
    pub fn without_prefix(&self) -> String {
        self.load().map_or_else(|| self.to_string(), str::to_owned)
    }

    /// The figure of this name; `None` if unknown.
    fn known(name: &str) -> Option<Self> {
        Some(match name {
            "p50" => Self::P50,
            "p99" => Self::P99,
            "p99.9" => Self::P99_9,
            "p99.99" => Self::P99_99,
            "p99.999" => Self::P99_999,
            "max" => Self::Max,
            "missed periods" => Self::MissedPeriods,
            "over the limit" => Self::OverLimit,
            _ => return None,
        })
    }
}

impl fmt::Display for FigureName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::P50 => "p50",
            Self::P99 => "p99",
            Self::P99_9 => "p99.9",
            Self::P99_99 => "p99.99",
            Self::P99_999 => "p99.999",
            Self::Max => "max",
            Self::MissedPeriods => "missed periods",
            Self::OverLimit => "over the limit",
            Self::Load(name) => return write!(out, "{LOAD_PREFIX}{name}"),
        })
    }
}

impl From<FigureName> for String {
    fn from(name: FigureName) -> Self {
        name.to_string()
    }
}

/// Any name that is not a latency figure is the name of a load.
impl From<String> for FigureName {
    fn from(name: String) -> Self {
        Self::known(&name).unwrap_or_else(|| Self::Load(name.strip_prefix(LOAD_PREFIX).unwrap_or(&name).to_owned()))
    }
}

/// Stores the figure of a load as the bare name of the load, as comparisons and observer effects do.
pub mod without_prefix {
    use super::FigureName;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(name: &FigureName, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&name.without_prefix())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<FigureName, D::Error> {
        String::deserialize(input).map(FigureName::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_stored_as_they_are_shown() {
        let names = [
            FigureName::P50,
            FigureName::P99,
            FigureName::P99_9,
            FigureName::P99_99,
            FigureName::P99_999,
            FigureName::Max,
            FigureName::MissedPeriods,
            FigureName::OverLimit,
            FigureName::Load("messaging".into()),
        ];
        for name in names {
            let stored = serde_json::to_value(&name).unwrap();
            assert_eq!(stored, serde_json::json!(name.to_string()));
            assert_eq!(serde_json::from_value::<FigureName>(stored).unwrap(), name);
        }
        assert_eq!(FigureName::from("messaging".to_owned()), FigureName::Load("messaging".into()));
    }
}
