//! Effects of the kernel's tracers on the other figures of a run.

use archive::message::Severity;
use archive::problem::Problem;
use archive::tracer::KernelSource;
use thiserror::Error;

/// A cost that is or may be part of the measured latencies.
#[derive(Debug, PartialEq, Eq, Error, Problem)]
pub enum Interference {
    #[error("the tracer {tracer} follows functions on all CPUs; its cost is in the latencies")]
    #[problem(
        code = "meter.tracer-cost",
        meaning = "A latency tracer records functions on every CPU, which makes every wake-up later.",
        fix = "narrow it with --functions, or measure without it"
    )]
    Functions { tracer: &'static str },
    #[error("timerlat's threads run at FIFO 95 on the measured CPUs: their wake-ups are part of our latencies")]
    #[problem(
        code = "meter.timerlat-beside",
        meaning = "The kernel's timerlat threads preempt the measuring threads.",
        fix = ""
    )]
    Timerlat,
    #[error("osnoise's threads keep the measured CPUs busy as ordinary tasks: no wake-up comes from idle")]
    #[problem(
        code = "meter.osnoise-beside",
        meaning = "The kernel's osnoise threads keep the measured CPUs from idling.",
        fix = ""
    )]
    Osnoise,
    #[error("hwlat keeps {busy}, on one measured CPU after the other: our latencies are its doing and mean nothing")]
    #[problem(
        code = "meter.hwlat-on-measured-cpus",
        meaning = "The hwlat tracer disables interrupts on the measured CPUs for most of the time.",
        fix = "leave a CPU out of --cpus for it, or measure with hwlat alone in mind"
    )]
    HwlatOnMeasured { busy: String },
    #[error("hwlat keeps {busy} on CPU {cpus}, which is not measured")]
    #[problem(
        code = "meter.hwlat-beside",
        meaning = "The hwlat tracer disables interrupts on CPUs that are not measured.",
        fix = ""
    )]
    HwlatElsewhere { busy: String, cpus: String },
}

impl Interference {
    /// The effect of a source whose threads run on the measured CPUs.
    pub fn of(source: KernelSource) -> Self {
        match source {
            KernelSource::Timerlat => Self::Timerlat,
            KernelSource::Osnoise | KernelSource::Hwlat => Self::Osnoise,
        }
    }

    pub fn severity(&self) -> Severity {
        if matches!(self, Self::HwlatOnMeasured { .. }) { Severity::Degraded } else { Severity::Notice }
    }
}
