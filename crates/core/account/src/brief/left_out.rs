//! The parts that an answer had no room for.

use serde::Serialize;

/// Counts of what was dropped; `tardy` without `--brief` shows all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    #[serde(skip_serializing_if = "is_zero")]
    pub owners: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub phases: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub findings: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub facts: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub evidence: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub remarks: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub observations: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub causes: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub spikes: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub cpus: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub limits: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub figures: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub differences: usize,
}

impl LeftOut {
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Drops the last entry of a list with more than `kept`, and counts it.
pub fn drop_last<T>(list: &mut Vec<T>, kept: usize, count: &mut usize) -> bool {
    let drops = list.len() > kept;
    if drops {
        list.pop();
        *count += 1;
    }
    drops
}
