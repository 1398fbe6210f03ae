//! The answer of `tardy explain --bound`, for text and JSON. Its format is stable; `bound_version` counts its changes.

use account::{Account, Delays, Interference, bound_ns};
use serde::Serialize;

const BOUND_VERSION: u32 = 1;
const WINDOWS_NS: [i64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];

/// All known parts of the bound of a run.
#[derive(Debug, Serialize)]
pub struct Answer {
    bound_version: u32,
    archive: String,
    /// The clock counts instructions: not a time of real hardware.
    pub virtual_time: bool,
    /// Whether the theorem applies to the kernel; absent if the run does not record it.
    pub preempt_rt: Option<bool>,
    /// Absent if none were given: no run contains them.
    pub delays: Option<Given>,
    /// CPUs with traced late wake-ups.
    pub cpus: Vec<OfCpu>,
    /// Caveats for the use of these values.
    pub note: &'static str,
}

/// The delays as given, named as in the option.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Given {
    pub dst_ns: i64,
    pub poid_ns: i64,
    pub paie_ns: i64,
    pub psd_ns: i64,
    /// The bound without interrupts.
    pub interference_free_ns: i64,
}

/// One CPU.
#[derive(Debug, Serialize)]
pub struct OfCpu {
    pub cpu: u32,
    /// Interrupts observed around its late wake-ups.
    pub sources: Vec<String>,
    /// The longest stretch that a trace of this CPU covers.
    pub recorded_ns: i64,
    pub interference: Vec<Within>,
    /// Absent without delays, and if the equation has no solution below 100 ms.
    pub bound_ns: Option<i64>,
    /// The bound covers more time than any trace: longer windows may contain more interrupts.
    pub longer_than_recorded: bool,
}

/// The largest time that interrupts were observed to take within any window of this length.
#[derive(Debug, Serialize)]
pub struct Within {
    pub window_ns: i64,
    pub taken_ns: i64,
}

impl Answer {
    pub fn of(account: &Account, delays: Option<Delays>, note: &'static str) -> Self {
        let run = account.run();
        let of_cpu = |(cpu, interference): (u32, Interference)| OfCpu::of(cpu, &interference, delays.as_ref());
        Self {
            bound_version: BOUND_VERSION,
            archive: run.directory.display().to_string(),
            virtual_time: run.manifest.as_ref().is_some_and(|manifest| manifest.virtual_time),
            preempt_rt: run.environment.as_ref().and_then(|environment| environment.preempt_rt),
            delays: delays.map(Given::of),
            cpus: account.interference().into_iter().map(of_cpu).collect(),
            note,
        }
    }
}

impl Given {
    fn of(delays: Delays) -> Self {
        Self {
            dst_ns: delays.scheduler_tail_ns,
            poid_ns: delays.masked_ns,
            paie_ns: delays.enabled_ns,
            psd_ns: delays.scheduling_ns,
            interference_free_ns: delays.interference_free_ns(),
        }
    }
}

impl OfCpu {
    fn of(cpu: u32, interference: &Interference, delays: Option<&Delays>) -> Self {
        let windows = WINDOWS_NS.iter().filter(|window| **window <= interference.recorded_ns);
        let bound_ns = delays.and_then(|delays| bound_ns(delays, interference));
        Self {
            cpu,
            sources: interference.sources().map(str::to_owned).collect(),
            recorded_ns: interference.recorded_ns,
            interference: windows
                .map(|&window_ns| Within { window_ns, taken_ns: interference.within_ns(window_ns) })
                .collect(),
            bound_ns,
            longer_than_recorded: bound_ns.is_some_and(|ns| ns > interference.recorded_ns),
        }
    }
}
