//! What a target's kernel says of its settings, unjudged: the raw material of `tardy check`.
//!
//! The meter reads, the host judges. Every text in here comes from the target and is no more trusted than it.

use crate::environment::Environment;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of [`Facts`] as JSON.
pub const FACTS_VERSION: u32 = 1;
/// Longest file that is taken whole, in bytes.
pub const FILE_BYTES_MAX: u64 = 64 << 10;
/// Most bytes a target's facts may have together, as JSON.
pub const FACTS_BYTES_MAX: usize = 32 << 20;

/// What reading one file gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// Its contents, byte for byte but for what is no UTF-8.
    Text(String),
    /// There is no such file: the kernel has nothing of the kind, or it is hidden.
    Absent,
    /// It is there and cannot be read, and why.
    Refused(String),
}

/// A task that could hold a CPU against real-time work: one with a real-time policy, a thread of the kernel, or a service
/// that is known to change settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskFact {
    pub tid: i32,
    pub name: String,
    /// `fifo`, `rr`, `deadline` or `other`.
    pub policy: String,
    /// 1 to 99 for FIFO and RR, what it inherited from a waiter included; 0 otherwise.
    pub priority: u8,
    /// CPUs it may use, as `0-3,5`.
    pub cpus_allowed: String,
    /// Whether it is the kernel's own.
    pub kernel: bool,
    /// Whether the kernel refuses to let anybody move it.
    pub bound: bool,
}

/// System management interrupts that one CPU counted, before and after a pause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SmiFact {
    pub cpu: u32,
    pub before: u64,
    pub after: u64,
}

/// Everything that is known of a target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    pub facts_version: u32,
    pub meter_version: String,
    /// Whether it was read with the rights of root.
    pub root: bool,
    pub environment: Environment,
    /// Lines `CONFIG_X=value` of the kernel's configuration that are set; `None` where it cannot be read.
    pub kernel_config: Option<String>,
    /// Files by their absolute paths.
    pub files: BTreeMap<String, Fact>,
    /// Resolution the kernel states for CLOCK_MONOTONIC, in ns: 1 with high-resolution timers.
    pub clock_resolution_ns: Option<u64>,
    pub smi: Vec<SmiFact>,
    /// Pause between the two reads of the counters, in ns.
    pub smi_pause_ns: u64,
    /// Why there are no counters of system management interrupts.
    pub smi_problem: Option<String>,
    /// Directories of the control groups the meter was in, the innermost first.
    pub cgroups: Vec<String>,
    pub tasks: Vec<TaskFact>,
    /// Tasks and files left out because there were too many.
    pub omitted: u64,
    /// Why nothing is known of the trace file system.
    pub tracing_problem: Option<String>,
}

/// What became of one setting that was to be applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    pub path: String,
    pub value: String,
    /// What was there before, as the kernel writes it.
    pub before: Option<String>,
    /// Why it was not changed; `None` when it was.
    pub problem: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_takes_facts_of_other_versions() {
        let facts: Facts = serde_json::from_str(r#"{"facts_version":7,"news":1,"files":{"/a":"absent"}}"#).unwrap();
        assert_eq!((facts.facts_version, &facts.files["/a"]), (7, &Fact::Absent));
        let text = serde_json::to_string(&Fact::Refused("no".into())).unwrap();
        assert_eq!(text, r#"{"refused":"no"}"#);
    }
}
