//! Settings as a target's kernel reports them, without judgement: the raw material of `tardy check`.
//!
//! The meter reads, the host judges. All texts come from the target and are as untrusted as it is.

use crate::environment::Environment;
use crate::method::state::MethodState;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of [`Facts`] as JSON.
pub const FACTS_VERSION: u32 = 1;
/// Largest file that is read completely, in bytes.
pub const FILE_BYTES_MAX: u64 = 64 << 10;
/// Largest size of a target's facts as JSON, in bytes.
pub const FACTS_BYTES_MAX: usize = 32 << 20;

/// Result of reading one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// Its contents; only bytes that are not UTF-8 are replaced.
    Text(String),
    /// The file does not exist: the kernel lacks the feature, or hides it.
    Absent,
    /// The file exists but cannot be read, and why.
    Refused(String),
}

/// A task that could delay real-time work: one with a real-time policy, a kernel thread, or a service that is known to
/// change settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskFact {
    pub tid: i32,
    pub name: String,
    /// `fifo`, `rr`, `deadline` or `other`.
    pub policy: String,
    /// 1 to 99 for FIFO and RR, including a priority inherited from a waiter; 0 otherwise.
    pub priority: u8,
    /// CPUs it may use, such as `0-3,5`.
    pub cpus_allowed: String,
    /// Whether it is a kernel thread.
    pub kernel: bool,
    /// Whether the kernel refuses to change its affinity.
    pub bound: bool,
}

/// Limits and policies of a user's session, as far as sound depends on them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionFacts {
    /// The sound servers, and the service managers of users, from which programs of a session inherit their limits.
    pub programs: Vec<SessionProgram>,
    /// Arguments of rtkit-daemon without its name; `None` if it does not run.
    pub rtkit_arguments: Option<Vec<String>>,
}

/// A program of a user's session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionProgram {
    pub pid: i32,
    pub name: String,
    /// Its real user; `None` if that cannot be read.
    pub user: Option<u32>,
    /// Contents of its `/proc/PID/limits`.
    pub limits: Fact,
    pub threads: Vec<SessionThread>,
}

/// A thread of such a program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionThread {
    pub tid: i32,
    pub name: String,
    /// `fifo`, `rr`, `deadline` or `other`.
    pub policy: String,
    /// As in [`TaskFact`].
    pub priority: u8,
}

/// System management interrupts that one CPU counted, before and after a pause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SmiFact {
    pub cpu: u32,
    pub before: u64,
    pub after: u64,
}

/// Everything known about a target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    pub facts_version: u32,
    pub meter_version: String,
    /// Whether the meter read them as root.
    pub root: bool,
    pub environment: Environment,
    /// Lines `CONFIG_X=value` of the options set in the kernel's configuration; `None` if it cannot be read.
    pub kernel_config: Option<String>,
    /// Files by their absolute paths.
    pub files: BTreeMap<String, Fact>,
    /// Resolution of CLOCK_MONOTONIC according to the kernel, in ns: 1 with high-resolution timers.
    pub clock_resolution_ns: Option<u64>,
    pub smi: Vec<SmiFact>,
    /// Pause between the two reads of the counters, in ns.
    pub smi_pause_ns: u64,
    /// Why there are no counters of system management interrupts.
    pub smi_problem: Option<String>,
    /// Directories of the control groups the meter was in, the innermost first.
    pub cgroups: Vec<String>,
    pub tasks: Vec<TaskFact>,
    /// `None` from a meter that does not read sessions.
    pub sessions: Option<SessionFacts>,
    /// Tasks and files left out because there were too many.
    pub omitted: u64,
    /// Why the tracing file system could not be read.
    pub tracing_problem: Option<String>,
    /// Which methods can run; empty from a meter that does not know of methods.
    pub methods: Vec<MethodState>,
}

/// Result of applying one setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    pub path: String,
    pub value: String,
    /// The previous value, as the kernel prints it.
    pub before: Option<String>,
    /// Why it was not changed; `None` if it was.
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
