//! Facts of waits for other threads and for devices.

use super::{Holder, KernelPriority, TaskName};
use crate::trace_event::{FileSystem, Interrupt};
use serde::{Deserialize, Serialize};

/// A watched thread slept during its work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Waited {
    pub until: WaitEnd,
    /// The file that it wrote out meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<WrittenFile>,
}

/// A file system by the kernel's number of its device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WrittenFile {
    pub file_system: FileSystem,
    pub device: u32,
}

/// The end of a wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum WaitEnd {
    Thread {
        /// It ended the wait of the watched thread.
        woke: TaskName,
        /// The thread at the end of a chain of waiting threads: `woke` itself, or a thread that `woke` waited for.
        awaited: TaskName,
        /// Threads of the chain, without the watched one.
        threads: u8,
        progress: AwaitedProgress,
    },
    Other(WakeSource),
}

/// The activity of the thread at the end of a chain in the longest part of the wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum AwaitedProgress {
    Ran {
        cpu: u32,
    },
    /// It could run, and did not.
    HeldUp {
        cpu: u32,
        /// `None` if the trace does not show what had the CPU.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        holder: Option<Holder>,
    },
    Slept(WakeSource),
}

/// The waker of a thread, by the context of the wake-up.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum WakeSource {
    Device(Interrupt),
    BlockDevice,
    Network,
    Timer,
    Unknown,
}

/// The thread waited for a less urgent one, which a third one kept off the CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PriorityInversion {
    pub thread: TaskName,
    pub thread_priority: KernelPriority,
    /// The one it waited for.
    pub awaited: TaskName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaited_priority: Option<KernelPriority>,
    /// The one that had the CPU for most of the time.
    pub middle: TaskName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub middle_priority: Option<KernelPriority>,
    /// Number of further threads in the middle.
    pub others: usize,
    pub cpu: u32,
    /// The whole wait for this thread.
    pub waited_ns: i64,
    /// The awaited thread inherited a priority.
    pub is_inherited: bool,
}
