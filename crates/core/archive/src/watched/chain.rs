//! Chains of threads that a watch follows while it goes on, and a missed deadline of one.

use serde::{Deserialize, Serialize};

/// Length of what is kept before the stimulus of a missed deadline: ordinary instances show what the late one did otherwise.
pub const BEFORE_CHAIN_NS: u64 = 500_000_000;

/// A chain to follow: the threads in the order in which each wakes the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FollowedChain {
    pub name: String,
    pub stages: Vec<FollowedStage>,
    /// From the stimulus until the last stage sleeps.
    pub deadline_ns: i64,
    /// An instance begins at the instant that the first stage's timer was set for; otherwise at each wake-up of it.
    pub by_timer: bool,
    /// Stimuli closer than half of it to the one before belong to its instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<i64>,
    /// The chain as its file declares it, in TOML: for an account of the kept traces. `None` if an older version wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub declaration: Option<String>,
}

/// A trace event that is recorded for chains, besides the base set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChainEvent {
    pub system: String,
    pub name: String,
    /// Only of the watched threads, not of all.
    pub of_watched: bool,
}

/// The threads that can be a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum FollowedStage {
    /// By name; `*` and `?` match.
    Comm(String),
    Tid(i32),
}

/// An instance of a chain that missed its deadline. Instants are CLOCK_MONOTONIC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MissedChain {
    pub name: String,
    pub stimulus_ns: i64,
    pub end_ns: i64,
    pub deadline_ns: i64,
    /// It had not ended by `end_ns`.
    pub is_open: bool,
    /// Instances since the watch began, with this one, and how many of them missed the deadline.
    pub instances: u64,
    pub missed: u64,
}

impl MissedChain {
    pub fn latency_ns(&self) -> i64 {
        self.end_ns.saturating_sub(self.stimulus_ns)
    }
}
