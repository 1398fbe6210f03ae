//! Setup of a machine for one user, who measures without a root shell: steps, and the changes that each makes.
//!
//! The meter plans, makes and reverts the changes; the host shows them.

use crate::choice::choices;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Largest size of a [`SetupReport`] as JSON, in bytes.
pub const SETUP_BYTES_MAX: usize = 4 << 20;
/// The group that is given access.
pub const GROUP: &str = "tardy";
/// The copy of the meter that this group alone can execute.
pub const METER_PATH: &str = "/usr/local/libexec/tardy/tardy-meter";
pub const TRACEFS: &str = "/sys/kernel/tracing";

/// A question to the meter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupRequest {
    pub user: String,
    pub uid: u32,
    /// Whether the meter gets the capability to record stacks of the kernel.
    #[serde(default)]
    pub stacks: bool,
    /// Whether to make the changes, or only to plan them.
    #[serde(default)]
    pub apply: bool,
}

choices! {
    /// One thing that the user gets, in the order in which they are set up.
    pub enum SetupStep {
        /// Only its members get access.
        Group = "group",
        /// Programs of the user may have real-time priorities and lock memory.
        Limits = "limits",
        /// The group reads the kernel's list of trace events.
        Tracing = "tracing",
        /// The user creates trace buffers, which only the user can write.
        TraceInstances = "trace-instances",
        /// `run --cpu-dma-latency` limits the sleep states of the CPUs.
        IdleStates = "idle-states",
        /// A copy of tardy-meter measures with real-time priority in locked memory.
        Meter = "meter",
        /// systemd gives the same access after each boot.
        AfterBoot = "after-boot",
    }
}

/// Owner and permissions of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    pub uid: u32,
    pub gid: u32,
    /// The lower twelve bits.
    pub mode: u32,
}

/// A privilege of the meter's copy, with its number in the kernel (capabilities(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Capability {
    /// Locked memory.
    IpcLock = 14,
    /// Real-time policies and priorities.
    SysNice = 23,
    /// Perf events of the kernel, also for programs of other users.
    Perfmon = 38,
}

/// One change to the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetupChange {
    /// A line of a file is replaced, or added at its end.
    Line { path: PathBuf, before: Option<String>, after: String },
    /// A directory is created.
    Directory { path: PathBuf },
    /// A file is created.
    File { path: PathBuf, text: String },
    /// The meter is copied, for one group alone.
    Program { path: PathBuf, access: Access, capabilities: Vec<Capability> },
    /// A file gets another owner or mode.
    Access { path: PathBuf, before: Access, after: Access },
    /// The trace file system gets other options, which set the group of each file in it. `others`: files of another group.
    TraceMount { path: PathBuf, before: Access, after: Access, others: BTreeMap<PathBuf, u32> },
}

impl SetupChange {
    pub fn path(&self) -> &Path {
        match self {
            Self::Line { path, .. }
            | Self::Directory { path }
            | Self::File { path, .. }
            | Self::Program { path, .. }
            | Self::Access { path, .. }
            | Self::TraceMount { path, .. } => path,
        }
    }
}

/// Why a step cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hindrance {
    /// The file has a text that a setup did not write.
    ForeignFile {
        path: PathBuf,
    },
    /// The machine lacks this file.
    Missing {
        path: PathBuf,
    },
    /// Only root can see the state of this file.
    Hidden {
        path: PathBuf,
    },
    /// The file system ignores capabilities of its files.
    NoCapabilities {
        path: PathBuf,
    },
    NoSystemd,
}

/// The state of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// There is nothing to change.
    Done,
    /// These changes are to be made.
    Needed(Vec<SetupChange>),
    /// These changes were made now.
    Made(Vec<SetupChange>),
    Hindered(Hindrance),
}

/// All steps, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupReport {
    pub user: String,
    pub group: String,
    pub steps: Vec<StepReport>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepReport {
    pub step: SetupStep,
    pub state: StepState,
}
