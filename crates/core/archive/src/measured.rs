//! The quantity that another tool measured: some tools wake no thread.

use crate::method::{HAND_OVER, SampleWord};
use serde::{Deserialize, Serialize};

/// The quantity that another tool measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Measured {
    #[default]
    WakeUps,
    /// How long a busy loop was interrupted.
    Interruptions,
    /// The way from one task to another.
    HandOvers,
}

impl Measured {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    pub fn sample(self) -> SampleWord {
        match self {
            Self::WakeUps => SampleWord::WAKE_UP,
            Self::Interruptions => SampleWord::GAP,
            Self::HandOvers => HAND_OVER,
        }
    }
}
