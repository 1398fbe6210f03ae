//! The kernel's tracers: their purpose, and the option that enables them.

use archive::tracer::KernelSource;

/// The role of a tracer in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Records into the snapshots, like events.
    Recording,
    /// Finds its own longest stretch and keeps the events in it.
    Latency,
    /// Measures by itself.
    Measuring(KernelSource),
}

/// One tracer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tracer {
    pub name: &'static str,
    pub role: Role,
    /// Kernel options it needs.
    pub config: &'static str,
}

const fn tracer(name: &'static str, role: Role, config: &'static str) -> Tracer {
    Tracer { name, role, config }
}

/// Every tracer a run can use.
pub const TRACERS: &[Tracer] = &[
    tracer("function", Role::Recording, "CONFIG_FUNCTION_TRACER"),
    tracer("function_graph", Role::Recording, "CONFIG_FUNCTION_GRAPH_TRACER"),
    tracer("wakeup", Role::Latency, "CONFIG_SCHED_TRACER"),
    tracer("wakeup_rt", Role::Latency, "CONFIG_SCHED_TRACER"),
    tracer("wakeup_dl", Role::Latency, "CONFIG_SCHED_TRACER"),
    tracer("irqsoff", Role::Latency, "CONFIG_IRQSOFF_TRACER"),
    tracer("preemptoff", Role::Latency, "CONFIG_PREEMPT_TRACER"),
    tracer("preemptirqsoff", Role::Latency, "CONFIG_IRQSOFF_TRACER and CONFIG_PREEMPT_TRACER"),
    tracer("timerlat", Role::Measuring(KernelSource::Timerlat), "CONFIG_TIMERLAT_TRACER"),
    tracer("osnoise", Role::Measuring(KernelSource::Osnoise), "CONFIG_OSNOISE_TRACER"),
    tracer("hwlat", Role::Measuring(KernelSource::Hwlat), "CONFIG_HWLAT_TRACER"),
];

/// The tracer with this name, if a run can use it.
pub fn find(name: &str) -> Option<&'static Tracer> {
    TRACERS.iter().find(|tracer| tracer.name == name)
}

/// The tracer of a source.
pub fn of_source(source: KernelSource) -> &'static Tracer {
    let behind = TRACERS.iter().find(|tracer| tracer.role == Role::Measuring(source));
    behind.expect("every source has a tracer")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_has_a_tracer_and_every_name_is_unique() {
        for source in [KernelSource::Timerlat, KernelSource::Osnoise, KernelSource::Hwlat] {
            assert_eq!(of_source(source).role, Role::Measuring(source));
        }
        for tracer in TRACERS {
            assert_eq!(find(tracer.name), Some(tracer));
        }
    }
}
