//! Effects of the kernel's tracers on the other figures of a run.

use archive::message::Severity;
use archive::problem::{Code, ProblemKind};
use archive::tracer::KernelSource;

/// A cost that is or may be part of the measured latencies.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Interference {
    #[error("the tracer {tracer} follows functions on all CPUs; its cost is in the latencies")]
    Functions { tracer: &'static str },
    #[error("timerlat's threads run at FIFO 95 on the measured CPUs: their wake-ups are part of our latencies")]
    Timerlat,
    #[error("osnoise's threads keep the measured CPUs busy as ordinary tasks: no wake-up comes from idle")]
    Osnoise,
    #[error("hwlat keeps {busy}, on one measured CPU after the other: our latencies are its doing and mean nothing")]
    HwlatOnMeasured { busy: String },
    #[error("hwlat keeps {busy} on CPU {cpus}, which is not measured")]
    HwlatElsewhere { busy: String, cpus: String },
}

problem_codes! { Interference:
    Functions => "meter.tracer-cost", "A latency tracer records functions on every CPU, which makes every wake-up later.",
        "narrow it with --functions, or measure without it";
    Timerlat => "meter.timerlat-beside", "The kernel's timerlat threads preempt the measuring threads.", "";
    Osnoise => "meter.osnoise-beside", "The kernel's osnoise threads keep the measured CPUs from idling.", "";
    HwlatOnMeasured => "meter.hwlat-on-measured-cpus",
        "The hwlat tracer disables interrupts on the measured CPUs for most of the time.",
        "leave a CPU out of --cpus for it, or measure with hwlat alone in mind";
    HwlatElsewhere => "meter.hwlat-beside", "The hwlat tracer disables interrupts on CPUs that are not measured.", "";
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

impl ProblemKind for Interference {
    fn code(&self) -> Code {
        self.code_of_variant()
    }

    fn fix(&self) -> String {
        self.fix_of_variant()
    }
}
