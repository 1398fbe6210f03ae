//! The fingerprint of the machine a run was taken on: what must be equal for two runs to be comparable.

use serde::{Deserialize, Serialize};

/// What stands in [`Environment::virtualisation`] for whoever explains a run of a machine whose clock counts the instructions
/// it has executed: a hypervisor that takes no time.
pub const VIRTUAL_TIME: &str = "virtual time";

/// A real-time task that could hold a CPU against the measuring threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RtTask {
    pub tid: i32,
    pub name: String,
    /// `fifo`, `rr` or `deadline`.
    pub policy: String,
    pub priority: u8,
}

/// Fingerprint of the target. `None` means: could not be read there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Environment {
    pub hostname: String,
    pub architecture: String,
    pub kernel_release: String,
    pub kernel_version: String,
    pub command_line: Option<String>,
    /// `preempt_rt`, `preempt`, `voluntary`, `none`, `lazy`, or as the kernel words it.
    pub preemption: Option<String>,
    pub preempt_rt: Option<bool>,
    /// Lines of the kernel config that matter for latency, `CONFIG_X=y`.
    pub config: Vec<String>,
    pub config_source: Option<String>,
    pub cpu_model: Option<String>,
    pub cpus_online: Option<String>,
    pub cpus_isolated: Option<String>,
    pub cpus_nohz_full: Option<String>,
    pub smt: Option<String>,
    pub memory_total_kb: Option<u64>,
    pub clocksource: Option<String>,
    pub idle_driver: Option<String>,
    pub idle_governor: Option<String>,
    /// Governor of each CPU, as `cpu0=performance`.
    pub frequency_governors: Vec<String>,
    pub rt_period_us: Option<i64>,
    pub rt_runtime_us: Option<i64>,
    /// `cpu0=50000000` (ns of each period), where the kernel has a fair server.
    pub fair_server_runtime: Vec<String>,
    pub mitigations: Vec<String>,
    /// `none`, or the hypervisor as far as it says.
    pub virtualisation: Option<String>,
    /// Whether the kernel leaves out of a task's runtime what the hypervisor took: it can, and the hypervisor has said that it
    /// took time. `None` while nothing was taken, or where the kernel's configuration cannot be read.
    pub steal_clock: Option<bool>,
    pub container: Option<String>,
    /// Kernel command line or config options that ruin latency by themselves.
    pub debug_options: Vec<String>,
    /// Tasks with a priority at or above ours, the measuring threads excepted.
    pub rt_tasks: Vec<RtTask>,
    pub load_average: Option<String>,
}
