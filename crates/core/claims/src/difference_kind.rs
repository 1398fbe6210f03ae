//! The properties of a run in which two runs can differ.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The kind of a difference. Stored under its display name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum DifferenceKind {
    #[serde(rename = "target")]
    Target,
    #[serde(rename = "machine")]
    Machine,
    #[serde(rename = "architecture")]
    Architecture,
    #[serde(rename = "processor")]
    Processor,
    #[serde(rename = "kernel")]
    Kernel,
    #[serde(rename = "kernel build")]
    KernelBuild,
    #[serde(rename = "preemption")]
    Preemption,
    #[serde(rename = "PREEMPT_RT")]
    PreemptRt,
    #[serde(rename = "CPUs online")]
    CpusOnline,
    #[serde(rename = "CPUs isolated")]
    CpusIsolated,
    #[serde(rename = "CPUs nohz_full")]
    CpusNohzFull,
    #[serde(rename = "SMT")]
    Smt,
    #[serde(rename = "memory in kB")]
    Memory,
    #[serde(rename = "clock source")]
    ClockSource,
    #[serde(rename = "clock resolution in ns")]
    ClockResolution,
    #[serde(rename = "idle driver")]
    IdleDriver,
    #[serde(rename = "idle governor")]
    IdleGovernor,
    #[serde(rename = "sched_rt_runtime_us")]
    RtRuntime,
    #[serde(rename = "sched_rt_period_us")]
    RtPeriod,
    #[serde(rename = "hypervisor")]
    Hypervisor,
    #[serde(rename = "container")]
    Container,
    #[serde(rename = "recorded meanwhile")]
    Recording,
    #[serde(rename = "version of tardy")]
    ToolVersion,
    #[serde(rename = "version of the meter")]
    MeterVersion,
    #[serde(rename = "watched program")]
    Watched,
    #[serde(rename = "method")]
    Method,
    #[serde(rename = "interval in ns")]
    Interval,
    #[serde(rename = "seed of the intervals")]
    Seed,
    #[serde(rename = "duration in ns")]
    Duration,
    #[serde(rename = "cycles")]
    Cycles,
    #[serde(rename = "CPUs measured")]
    CpusMeasured,
    #[serde(rename = "policy")]
    Policy,
    #[serde(rename = "priority")]
    Priority,
    #[serde(rename = "policy granted")]
    PolicyGranted,
    #[serde(rename = "memory locked")]
    MemoryLocked,
    #[serde(rename = "cpu_dma_latency in us")]
    CpuDmaLatency,
    #[serde(rename = "limit in ns")]
    Limit,
    #[serde(rename = "every sample kept")]
    EverySample,
    #[serde(rename = "load")]
    Load,
    #[serde(rename = "setting")]
    Setting,
    #[serde(rename = "kernel command line")]
    CommandLine,
    #[serde(rename = "kernel option")]
    KernelOption,
    #[serde(rename = "frequency governor")]
    FrequencyGovernor,
    #[serde(rename = "fair server")]
    FairServer,
    #[serde(rename = "mitigation")]
    Mitigation,
    #[serde(rename = "debug option")]
    DebugOption,
    #[serde(rename = "ingredient")]
    Ingredient,
    #[serde(rename = "reduced")]
    Reduced,
}

impl DifferenceKind {
    /// The display name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Machine => "machine",
            Self::Architecture => "architecture",
            Self::Processor => "processor",
            Self::Kernel => "kernel",
            Self::KernelBuild => "kernel build",
            Self::Preemption => "preemption",
            Self::PreemptRt => "PREEMPT_RT",
            Self::CpusOnline => "CPUs online",
            Self::CpusIsolated => "CPUs isolated",
            Self::CpusNohzFull => "CPUs nohz_full",
            Self::Smt => "SMT",
            Self::Memory => "memory in kB",
            Self::ClockSource => "clock source",
            Self::ClockResolution => "clock resolution in ns",
            Self::IdleDriver => "idle driver",
            Self::IdleGovernor => "idle governor",
            Self::RtRuntime => "sched_rt_runtime_us",
            Self::RtPeriod => "sched_rt_period_us",
            Self::Hypervisor => "hypervisor",
            Self::Container => "container",
            Self::Recording => "recorded meanwhile",
            Self::ToolVersion => "version of tardy",
            Self::MeterVersion => "version of the meter",
            Self::Watched => "watched program",
            Self::Method => "method",
            Self::Interval => "interval in ns",
            Self::Seed => "seed of the intervals",
            Self::Duration => "duration in ns",
            Self::Cycles => "cycles",
            Self::CpusMeasured => "CPUs measured",
            Self::Policy => "policy",
            Self::Priority => "priority",
            Self::PolicyGranted => "policy granted",
            Self::MemoryLocked => "memory locked",
            Self::CpuDmaLatency => "cpu_dma_latency in us",
            Self::Limit => "limit in ns",
            Self::EverySample => "every sample kept",
            Self::Load => "load",
            Self::Setting => "setting",
            Self::CommandLine => "kernel command line",
            Self::KernelOption => "kernel option",
            Self::FrequencyGovernor => "frequency governor",
            Self::FairServer => "fair server",
            Self::Mitigation => "mitigation",
            Self::DebugOption => "debug option",
            Self::Ingredient => "ingredient",
            Self::Reduced => "reduced",
        }
    }
}

impl fmt::Display for DifferenceKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_stored_under_its_name() {
        for kind in [DifferenceKind::Kernel, DifferenceKind::Seed, DifferenceKind::Recording, DifferenceKind::Load] {
            assert_eq!(serde_json::to_value(kind).unwrap(), serde_json::json!(kind.name()));
        }
    }
}
