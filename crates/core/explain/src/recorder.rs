//! Who recorded a trace: that decides what its silence proves.

use archive::environment::Environment;
use ftrace::format::EventFormats;

/// The recorder of a trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Recorder {
    /// This tool, with every event that the kernel has and an account needs.
    #[default]
    Own,
    /// Another tool: whole groups of events may be missing.
    Foreign(Precision),
}

/// How exact the times of a recording are, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Precision {
    /// Times are rounded down to a multiple of this.
    pub resolution_ns: i64,
    /// Uncertainty of a clock that became CLOCK_MONOTONIC.
    pub clock_spread_ns: i64,
}

impl Recorder {
    pub fn precision(self) -> Option<Precision> {
        match self {
            Self::Own => None,
            Self::Foreign(precision) => Some(precision),
        }
    }
}

/// The groups of events that a trace shows: what is absent from one of these did not happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    pub interrupts: bool,
    pub softirqs: bool,
    /// Starts and expiries of timers.
    pub timers: bool,
    /// Moves of threads between CPUs.
    pub migrations: bool,
}

impl Shown {
    pub const ALL: Self = Self { interrupts: true, softirqs: true, timers: true, migrations: true };

    /// By the events that a trace describes.
    pub fn of(recorder: Recorder, formats: &EventFormats, environment: Option<&Environment>) -> Self {
        if recorder == Recorder::Own {
            return Self::ALL;
        }
        // Only x86 has interrupts beside `irq_handler_entry` and `ipi`.
        let architecture = environment.map_or("", |environment| environment.architecture.as_str());
        let has_vectors = architecture.is_empty() || architecture.starts_with("x86") || architecture == "i686";
        let vectors = !has_vectors || formats.find("irq_vectors", "local_timer_entry").is_some();
        let has = |system: &str, name: &str| formats.find(system, name).is_some();
        Self {
            interrupts: vectors && has("irq", "irq_handler_entry"),
            softirqs: has("irq", "softirq_entry"),
            timers: has("timer", "hrtimer_start") && has("timer", "hrtimer_expire_entry"),
            migrations: has("sched", "sched_migrate_task"),
        }
    }
}
