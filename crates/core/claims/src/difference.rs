//! A difference between two runs other than their latencies.

use crate::difference_kind::DifferenceKind;
use serde::{Deserialize, Serialize};

/// One difference between two runs; `None`: absent or unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    pub what: DifferenceKind,
    pub a: Option<String>,
    pub b: Option<String>,
}
