//! The holder of a CPU.

use super::{KernelName, TaskName};
use crate::trace_event::{Interrupt, Vector};
use serde::{Deserialize, Serialize};

/// The innermost context of a CPU, with the function that it executed where the trace shows one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Holder {
    /// The recorder has no data.
    Untraced,
    Nmi {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        function: Option<KernelName>,
    },
    Vector {
        vector: Vector,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        function: Option<KernelName>,
    },
    Irq {
        irq: Interrupt,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        function: Option<KernelName>,
    },
    Softirq {
        /// Number of the softirq.
        softirq: u32,
        /// Thread in which it ran; `None` in idle.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on: Option<TaskName>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        function: Option<KernelName>,
    },
    Task {
        task: TaskName,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        function: Option<KernelName>,
    },
    Idle {
        /// `None` if the idle task ran without being in a sleep state.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<u32>,
    },
}

/// The largest of several holders, and the number of the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Holders {
    pub largest: Holder,
    #[serde(default, skip_serializing_if = "is_none")]
    pub others: u32,
}

fn is_none(count: &u32) -> bool {
    *count == 0
}
