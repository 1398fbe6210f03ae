//! Instants that get a mark in the picture of a late sample.

use crate::culprit::{ForeignText, KernelName, KernelPriority, TaskName, if_known};
use serde::{Deserialize, Serialize};

/// Kind of a mark in the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum MarkKind {
    /// The waking of the thread started.
    Woken,
    /// The thread was switched in.
    GivenCpu,
    /// Another CPU sent an interrupt to the late one.
    Ipi,
    /// The thread moved to another CPU.
    Migrated,
    /// A thread inherited the priority of one that waits for it, or dropped it again.
    Boosted,
    /// The frequency of a CPU changed.
    Frequency,
    /// Text that a program wrote into the trace.
    Marker,
}

/// The event of a mark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum MarkedEvent {
    /// A thread starts to wake the late one.
    Woken {
        by: TaskName,
    },
    /// The thread gets the CPU.
    GivenCpu,
    /// A thread sends an interrupt to the late CPU.
    Ipi {
        by: TaskName,
        to_cpu: u32,
        /// Function to run there; `None`: check whether there is something to do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        function: Option<KernelName>,
        /// Function that sends it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sent_from: Option<KernelName>,
    },
    Migrated {
        from_cpu: i32,
        to_cpu: i32,
    },
    /// A thread inherits a priority, or goes back to its own.
    Boosted {
        task: TaskName,
        old_priority: KernelPriority,
        new_priority: KernelPriority,
    },
    Frequency {
        cpu: u32,
        khz: u32,
    },
    /// A thread wrote text into the trace; long text is cut.
    Marker {
        by: TaskName,
        text: ForeignText,
    },
}

impl MarkedEvent {
    pub fn kind(&self) -> MarkKind {
        match self {
            Self::Woken { .. } => MarkKind::Woken,
            Self::GivenCpu => MarkKind::GivenCpu,
            Self::Ipi { .. } => MarkKind::Ipi,
            Self::Migrated { .. } => MarkKind::Migrated,
            Self::Boosted { .. } => MarkKind::Boosted,
            Self::Frequency { .. } => MarkKind::Frequency,
            Self::Marker { .. } => MarkKind::Marker,
        }
    }
}

/// An instant of the picture, relative to the due instant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mark {
    pub at_ns: i64,
    /// CPU that recorded it.
    pub cpu: u32,
    pub kind: MarkKind,
    /// `None` in archives of older versions, and if a newer version wrote an event that this one does not know.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "if_known")]
    pub event: Option<MarkedEvent>,
    /// The event, and the task that caused it: `messaging-send-41 on CPU 0 starts to wake the thread`.
    pub text: String,
}

impl Mark {
    /// A mark without words.
    pub fn new(at_ns: i64, cpu: u32, event: MarkedEvent) -> Self {
        Self { at_ns, cpu, kind: event.kind(), event: Some(event), text: String::new() }
    }
}
