//! The requested settings of a run.

use crate::audit::AuditSettings;
use crate::choice::choices;
use crate::method::storage::{Engine, Phases, Storage};
use crate::method::{MethodOptions, MethodRequest};
pub use crate::policy::Policy;
use crate::stimulus::StimulusRequest;
use crate::tracer::{KernelSource, TracerSettings};
use crate::watched::WatchSettings;
use serde::{Deserialize, Serialize};

choices! {
    /// How the trace around a spike is kept.
    pub enum SnapshotMode {
        /// The best mode that the kernel supports.
        Auto = "auto",
        /// The marker write swaps the buffers in the kernel (`snapshot` trigger on ftrace/print).
        Trigger = "trigger",
        /// The kernel finds the new maximum itself (`onmax().snapshot()` hist trigger).
        Onmax = "onmax",
        /// Two instances with the same events; one records while the other is copied.
        Flip = "flip",
        /// One instance, read while it records.
        Live = "live",
        /// No tracing.
        Off = "off",
    }
}

impl SnapshotMode {
    /// Trace buffers that each CPU has for it.
    pub fn buffers_per_cpu(self) -> u64 {
        match self {
            Self::Off => 0,
            Self::Live => 1,
            Self::Auto | Self::Trigger | Self::Onmax | Self::Flip => 2,
        }
    }
}

/// Snapshots that each stretch of a long run keeps, however late the wake-ups of other stretches were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorstOfEach {
    /// Length of a stretch. Stretches begin at its multiples on the wall clock, as the target had it at the start.
    pub stretch_ns: u64,
    /// Worst snapshots kept of each stretch: of wake-ups, of cycles, and of threads without a real-time policy.
    pub snapshots: u32,
}

impl WorstOfEach {
    /// The worst of each hour.
    pub const HOUR: Self = Self::of_stretch(3_600_000_000_000);

    /// The worst of each stretch of this length.
    pub const fn of_stretch(stretch_ns: u64) -> Self {
        Self { stretch_ns, snapshots: 2 }
    }

    /// The default of a run: the worst of each hour, where it lasts longer than that.
    pub fn of_run(duration_ns: Option<u64>) -> Option<Self> {
        Some(Self::HOUR).filter(|hour| duration_ns.is_none_or(|ns| ns > hour.stretch_ns))
    }
}

/// The tracing part of [`RunSettings`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceSettings {
    pub mode: SnapshotMode,
    /// Size of the ring buffer per CPU and instance.
    pub buffer_kb_per_cpu: u32,
    /// Time kept before the due instant and after the seen instant.
    pub margin_before_ns: u64,
    pub margin_after_ns: u64,
    /// New maxima below this get no snapshot.
    pub threshold_ns: i64,
    /// Snapshots kept; when full, a larger spike replaces the smallest kept one.
    pub snapshots_max: u32,
    /// Snapshots kept beside these, within the same bytes. `None` in runs of earlier versions and in short ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub worst_of_each: Option<WorstOfEach>,
    /// Limit for the total bytes of all kept snapshots.
    pub budget_bytes: u64,
    /// Ordinary samples captured the same way, for comparison.
    pub controls: u32,
    /// Least time between two snapshots that are not new maxima of the whole run.
    pub rest_ns: u64,
    /// Measure even if another tool is tracing.
    pub beside_others: bool,
    /// Kernel tracer that runs beside the events.
    pub tracer: Option<TracerSettings>,
}

impl Default for TraceSettings {
    fn default() -> Self {
        Self {
            mode: SnapshotMode::Auto,
            buffer_kb_per_cpu: 4096,
            margin_before_ns: 2_000_000,
            margin_after_ns: 200_000,
            threshold_ns: 0,
            snapshots_max: 40,
            worst_of_each: None,
            budget_bytes: 64 << 20,
            controls: 5,
            rest_ns: 200_000_000,
            beside_others: false,
            tracer: None,
        }
    }
}

/// Non-real-time work that runs beside the measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum LoadRequest {
    /// A load built into the meter, by name; `workers` 0 means its default for this machine.
    Builtin { name: String, workers: u32 },
    /// A shell command of the user, restarted each time it succeeds, unless it should run once. In archives of older
    /// versions every command ran once.
    Command {
        line: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        once: bool,
    },
    /// A program on the target that the meter can start and whose output it can parse, in rounds.
    Program { name: String, words: Vec<LoadWord> },
}

/// An argument of a program: `key=value`; a flag has no value, and the first word may have no key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadWord {
    pub key: String,
    pub value: String,
}

/// A kernel setting to change for the run and to restore afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SettingChange {
    /// File below /proc/sys or /sys.
    pub path: String,
    pub value: String,
}

/// The value to write for a setting with this text: for `always [madvise] never`, the word in brackets.
pub fn chosen(text: &str) -> &str {
    let mut words = text.split_whitespace();
    let in_brackets = |word: &'_ str| word.len() > 2 && word.starts_with('[') && word.ends_with(']');
    let marked = words.clone().filter(|word| in_brackets(word)).count() == 1;
    let word = words.find(|word| in_brackets(word)).filter(|_| marked);
    word.map_or(text, |word| &word[1..word.len() - 1])
}

/// Whether two texts of a setting are equivalent, although the kernel shows a different form than it accepts.
pub fn same_setting(left: &str, right: &str) -> bool {
    let (left, right) = (chosen(left.trim()), chosen(right.trim()));
    let same_number = matches!((left.parse::<i64>(), right.parse::<i64>()), (Ok(left), Ok(right)) if left == right);
    same_number || left.split_whitespace().eq(right.split_whitespace())
}

/// Maximum number of worst samples of one thread; longer lists are useless, and their memory is locked on every CPU.
pub const WORST_KEPT_MAX: u32 = 100_000;

/// Everything the meter needs to know, sent to it as one JSON line before anything happens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunSettings {
    pub interval_ns: u64,
    /// `None`: until stopped.
    pub duration_ns: Option<u64>,
    /// Ends the run when every thread has done this many cycles.
    pub cycles: Option<u64>,
    /// Wake-ups in this first part are made but not counted.
    pub settle_ns: u64,
    /// `None`: every CPU this process may use.
    pub cpus: Option<Vec<u32>>,
    pub policy: Policy,
    /// 1 to 99 for FIFO and RR; ignored otherwise.
    pub priority: u8,
    pub lock_memory: bool,
    /// Value held in /dev/cpu_dma_latency; `None` leaves the device alone.
    pub cpu_dma_latency_us: Option<i32>,
    /// Samples above it are counted and are spikes.
    pub limit_ns: Option<i64>,
    /// Worst samples kept per thread; at most 100000.
    pub worst_kept: u32,
    pub every_sample: bool,
    pub trace: TraceSettings,
    pub loads: Vec<LoadRequest>,
    pub settings: Vec<SettingChange>,
    /// Continue with reduced settings if privileges are missing; the run is then marked as degraded.
    pub degrade: bool,
    /// Measure to the end although a load died.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub keep_going: bool,
    /// Measurements by the kernel itself that run beside the meter's.
    pub sources: Vec<KernelSource>,
    /// Seed for random intervals, each uniform from half to one and a half of `interval_ns`, so that wake-ups do not
    /// run in step with the kernel's own periods. `None`: all intervals are equal.
    pub dither_seed: Option<u64>,
    /// Watch threads of another program instead of measuring with threads of the meter.
    pub watch: Option<WatchSettings>,
    /// Record what the watched threads ask of the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub audit: Option<AuditSettings>,
    /// Read the kernel's counters about once a second.
    // Runs whose archives do not say had none.
    #[serde(default)]
    pub counters: bool,
    /// The method of the samples; a timer in archives without it.
    #[serde(skip_serializing_if = "MethodRequest::is_default")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<MethodRequest>"))]
    pub method: MethodRequest,
    /// Text of the job file that fio runs with the method `storage`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub fio_jobs: Option<String>,
    /// The external board that gives the stimuli of `method`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub stimulus: Option<StimulusRequest>,
}

/// Settings of a run without options, and the value of a setting that an older archive lacks: a new setting must therefore be
/// off by default, or name what older runs did with `serde(default)`.
impl Default for RunSettings {
    fn default() -> Self {
        Self {
            interval_ns: 1_000_000,
            duration_ns: Some(60_000_000_000),
            cycles: None,
            settle_ns: 500_000_000,
            cpus: None,
            policy: Policy::Fifo,
            priority: 80,
            lock_memory: true,
            cpu_dma_latency_us: None,
            limit_ns: None,
            worst_kept: 1000,
            every_sample: false,
            trace: TraceSettings::default(),
            loads: Vec::new(),
            settings: Vec::new(),
            degrade: false,
            keep_going: false,
            sources: Vec::new(),
            dither_seed: None,
            watch: None,
            audit: None,
            counters: true,
            method: MethodRequest::default(),
            fio_jobs: None,
            stimulus: None,
        }
    }
}

/// Longest text of a job file in words.
const JOBS_CHARACTERS_MAX: usize = 200;

impl RunSettings {
    /// The method with its options, the threads of `map`, and the jobs of fio on one line.
    pub fn method_text(&self) -> String {
        let method = self.method.words();
        let Some(jobs) = &self.fio_jobs else { return method };
        let lines: Vec<&str> = jobs.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let mut jobs = lines.join("; ");
        if let Some((at, _)) = jobs.char_indices().nth(JOBS_CHARACTERS_MAX) {
            jobs.truncate(at);
            jobs.push('…');
        }
        format!("{method} ({jobs})")
    }

    /// Whether the way of each block request is recorded.
    pub fn records_requests(&self) -> bool {
        self.recorded_requests().is_some()
    }

    /// Whether every sample is sent: phases of a request are between the instants of its sample. Those of fio are too coarse for that.
    pub fn keeps_every_sample(&self) -> bool {
        self.every_sample || self.recorded_requests().is_some_and(|storage| storage.engine() == Engine::Builtin)
    }

    fn recorded_requests(&self) -> Option<&Storage> {
        match &self.method.options {
            MethodOptions::Storage(storage) if self.watch.is_none() => Some(storage),
            _ => None,
        }
        .filter(|storage| storage.phases() == Phases::On)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_in_brackets_is_the_choice() {
        assert_eq!(chosen("always [madvise] never\n"), "madvise");
        for text in ["4\t4\t1\t7", "[a] [b]", "[]", "", "isolated [", "3"] {
            assert_eq!(chosen(text), text);
        }
    }

    #[test]
    fn forms_of_one_setting_are_the_same() {
        for (left, right) in [("4\t4\t1\t7\n", "4 4 1 7"), ("always [never]", "never"), ("01", "1"), ("x", "x")] {
            assert!(same_setting(left, right) && same_setting(right, left), "{left} {right}");
        }
        for (left, right) in [("4 4 1 7", "3 4 1 7"), ("always [never]", "always"), ("1", "2"), ("", "0")] {
            assert!(!same_setting(left, right), "{left} {right}");
        }
    }
}
