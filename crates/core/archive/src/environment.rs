//! The fingerprint of a run's machine: runs are comparable where it agrees.

use serde::{Deserialize, Serialize};

/// Value of [`Environment::virtualisation`] for a machine whose clock counts executed instructions: a hypervisor that
/// takes no time.
pub const VIRTUAL_TIME: &str = "virtual time";

/// A real-time task that could keep a CPU from the measuring threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RtTask {
    pub tid: i32,
    pub name: String,
    /// `fifo`, `rr` or `deadline`.
    pub policy: String,
    pub priority: u8,
}

/// Fingerprint of the target. `None`: could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Environment {
    pub hostname: String,
    pub architecture: String,
    pub kernel_release: String,
    pub kernel_version: String,
    pub command_line: Option<String>,
    /// `preempt_rt`, `preempt`, `voluntary`, `none`, `lazy`, or the kernel's own word.
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
    /// `cpu0=50000000` (ns of each period), if the kernel has a fair server.
    pub fair_server_runtime: Vec<String>,
    /// `cpu0=1000000000` (ns), the period of that runtime.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fair_server_period: Vec<String>,
    pub mitigations: Vec<String>,
    /// `none`, or the hypervisor as far as it identifies itself.
    pub virtualisation: Option<String>,
    /// Whether the kernel excludes steal time from a task's runtime: it can, and the hypervisor has reported steal
    /// time. `None` as long as none was reported, or if the kernel's configuration cannot be read.
    pub steal_clock: Option<bool>,
    pub container: Option<String>,
    /// Kernel command line or config options that alone ruin latency.
    pub debug_options: Vec<String>,
    /// Tasks with a priority at or above that of the measuring threads, without those.
    pub rt_tasks: Vec<RtTask>,
    pub load_average: Option<String>,
}
