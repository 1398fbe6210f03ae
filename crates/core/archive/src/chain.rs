//! The account of a chain of threads: its instances from stimulus to end, the ledger of each, and the causes of late ones.
//!
//! `chains` makes these facts of a recording, `words` writes them. Instants are CLOCK_MONOTONIC, in ns, or the clock of the recording where
//! [`ChainLimit::ClockNotMono`] says so.

use crate::culprit::{AwaitedProgress, Culprit, ForeignText, Holder, KernelName, KernelPriority, TaskName, WakeSource};
use serde::{Deserialize, Serialize};

/// The account of one declared chain in one recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChainAccount {
    pub name: ForeignText,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ns: Option<i64>,
    /// In the order of their stimuli. Without ledgers, except for the worst ones.
    pub instances: Vec<ChainInstance>,
    /// Stimuli from which no end was reached: a stage handed nothing over, was still busy, or the recording ended.
    pub unlinked: usize,
    /// In the order of the chain.
    pub stages: Vec<StageTimes>,
    /// Of each instance that missed the deadline, or of the worst one without a deadline.
    pub findings: Vec<ChainFinding>,
    pub limits: Vec<ChainLimit>,
}

impl ChainAccount {
    /// Instances that ended after their deadline; `None` without a deadline.
    pub fn missed(&self) -> Option<usize> {
        let deadline_ns = self.deadline_ns?;
        Some(self.instances.iter().filter(|instance| instance.latency_ns() > deadline_ns).count())
    }

    /// The instance with the largest latency, the first of equals.
    pub fn worst(&self) -> Option<&ChainInstance> {
        self.instances.iter().rev().max_by_key(|instance| instance.latency_ns())
    }
}

/// One passage of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChainInstance {
    pub stimulus_ns: i64,
    pub end_ns: i64,
    /// It missed its deadline and had not ended when the recording did: `end_ns` is the end of the recording.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_open: bool,
    /// In the order of the chain.
    pub stages: Vec<StageSpan>,
    /// They tile `stimulus_ns..end_ns` without gap or overlap. Empty if the account leaves out this ledger.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<Segment>,
}

impl ChainInstance {
    pub fn latency_ns(&self) -> i64 {
        self.end_ns.saturating_sub(self.stimulus_ns)
    }
}

/// The part of an instance that belongs to one stage: from the hand-over of the stage before it, or the stimulus, to its own hand-over, or
/// the end. Stages of an instance follow each other without gap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StageSpan {
    pub thread: TaskName,
    pub start_ns: i64,
    /// The wake-up of the thread; before it the stimulus or the hand-over was under way.
    pub woken_ns: i64,
    pub end_ns: i64,
}

impl StageSpan {
    pub fn ns(&self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

/// A stretch of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Segment {
    pub start_ns: i64,
    pub end_ns: i64,
    /// Index of its stage.
    pub stage: usize,
    pub part: StagePart,
    /// The thread of the stage, or the kernel's thread that carries a hand-over; `None` while a stimulus is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<TaskName>,
    /// Threads that it waited for, each for the next one. The activity is of the last one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub awaited: Vec<TaskName>,
    /// Of the activity; `None` while the thread was not on a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    pub activity: Activity,
}

impl Segment {
    pub fn ns(&self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    pub fn share(&self) -> ChainShare {
        match (&self.activity, self.part) {
            (Activity::Unknown, _) => ChainShare::Unknown,
            (Activity::UnderWay { by: Holder::Vector { .. } | Holder::Irq { .. } | Holder::Nmi { .. } }, _) => {
                ChainShare::Hardirq
            }
            (Activity::UnderWay { by: Holder::Softirq { .. } }, _) => ChainShare::Softirq,
            (Activity::UnderWay { .. }, _) => ChainShare::StimulusDelayed,
            _ if !self.awaited.is_empty() => ChainShare::Waiting,
            (_, StagePart::HandOver) => ChainShare::KernelThread,
            (Activity::Running { .. }, _) => ChainShare::Running,
            (Activity::Interrupted { by: Holder::Softirq { .. } }, _) => ChainShare::Softirq,
            (Activity::Interrupted { .. }, _) => ChainShare::Hardirq,
            (Activity::Runnable { .. }, _) => ChainShare::Runnable,
            (Activity::Asleep { .. } | Activity::Stopped, _) => ChainShare::Waiting,
        }
    }
}

/// The step of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum StagePart {
    /// From the stimulus to the wake-up that it caused.
    Stimulus,
    /// From the wake-up of a kernel thread by the stage before it to the wake-up of the stage.
    HandOver,
    /// From the wake-up of the stage to its own hand-over, or the end.
    Work,
}

/// The activity of the thread of a segment, or the reason that it had none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Activity {
    Running {
        /// The work item or the call of another CPU that it executed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        function: Option<KernelName>,
    },
    /// It had the CPU, and an interrupt ran on top of it.
    Interrupted {
        by: Holder,
    },
    /// It could run, and did not.
    Runnable {
        /// The holder of the CPU; `None` if the recording does not show it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        holder: Option<Holder>,
        /// Of the holder, if it is a thread.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        priority: Option<KernelPriority>,
    },
    Asleep {
        until: WakeSource,
    },
    /// By a signal or a debugger.
    Stopped,
    /// The stimulus had occurred and had woken no thread; `by` had its CPU.
    UnderWay {
        by: Holder,
    },
    /// The recording does not show it.
    Unknown,
}

/// The sums of a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ChainShare {
    /// Threads of the chain had a CPU.
    Running,
    /// Threads of the chain could run, and something else had the CPU.
    Runnable,
    /// Threads of the chain waited for other threads, a timer or a device.
    Waiting,
    Hardirq,
    Softirq,
    /// Threads of the kernel carried a hand-over.
    KernelThread,
    /// The stimulus was under way, and neither an interrupt nor a softirq handled it.
    StimulusDelayed,
    Unknown,
}

impl ChainShare {
    pub const ALL: [Self; 8] = [
        Self::Running,
        Self::Runnable,
        Self::Waiting,
        Self::Hardirq,
        Self::Softirq,
        Self::KernelThread,
        Self::StimulusDelayed,
        Self::Unknown,
    ];
}

/// Times of a stage over all instances, in ns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StageTimes {
    pub name: ForeignText,
    pub median_ns: i64,
    pub max_ns: i64,
}

/// The stage that made an instance late, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChainFinding {
    /// Identifies the instance.
    pub stimulus_ns: i64,
    pub latency_ns: i64,
    /// Index of the stage.
    pub stage: usize,
    pub thread: TaskName,
    pub stage_ns: i64,
    /// Median of the stage in the other instances; `None` if there are too few of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordinary_ns: Option<i64>,
    /// `None` if the recording does not show the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub culprit: Option<Culprit>,
    /// Time that the cause took in this stage.
    pub cause_ns: i64,
    pub cause: ChainCause,
}

/// Facts of a cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ChainCause {
    /// The thread itself had the CPU for longer.
    OwnWork,
    /// Another context had the CPU while the thread could run.
    Preempted {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cpu: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        holder: Option<Holder>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        priority: Option<KernelPriority>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread_priority: Option<KernelPriority>,
    },
    /// Interrupts ran on top of the thread.
    Interrupted {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cpu: Option<u32>,
        by: Holder,
    },
    /// The thread slept until another one woke it.
    WaitedForThread {
        woke: TaskName,
        /// At the end of the chain of waits: `woke` itself, or a thread that `woke` waited for.
        awaited: TaskName,
        threads: usize,
        progress: AwaitedProgress,
        /// Of a thread that held up the awaited one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        holder_priority: Option<KernelPriority>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread_priority: Option<KernelPriority>,
    },
    /// The thread slept until a timer or a device woke it.
    WaitedFor(WakeSource),
    /// A signal or a debugger stopped the thread.
    Stopped,
    /// The stimulus came late, or its handling took longer.
    StimulusUnderWay {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cpu: Option<u32>,
        by: Holder,
    },
    /// A thread of the kernel carried the hand-over for longer.
    HandOver { thread: TaskName, progress: AwaitedProgress },
    /// The recording does not show it.
    Unknown,
}

/// A limit of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ChainLimit {
    /// No thread of the recording has this name.
    NoThread {
        stage: ForeignText,
    },
    /// The recorder did not know this event, which begins or ends the chain.
    NoEvent {
        event: ForeignText,
    },
    /// No thread of its stage caused this event.
    EventOfNoStage {
        event: ForeignText,
    },
    /// Events without which wake-ups, interrupts or timers do not show.
    EventsAbsent(Vec<String>),
    /// Events that are missing in the recording, at least.
    EventsLost(u64),
    /// The recording holds more events than are read.
    RecordingCut {
        events: u64,
    },
    /// A timer's due time is in CLOCK_MONOTONIC, the recording is not: an instance begins when its timer expires.
    ClockNotMono(String),
    /// Instances that are left out, because all ledgers together have too many segments.
    SegmentsCut {
        instances: usize,
    },
    Damaged(String),
}

/// A chain that a recording suggests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedChain {
    pub stimulus: ProposedStimulus,
    /// In the order of the chain.
    pub threads: Vec<TaskName>,
    /// Whether a name stands for one thread alone, of each stage.
    pub names_are_unique: bool,
    pub arrivals: Arrivals,
    /// Latency from stimulus to end; `None` if no instance ended in the recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ns_median: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ns_max: Option<i64>,
}

/// The origin of a proposed chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProposedStimulus {
    Timer,
    /// Name of the interrupt; its number where it has no name.
    Interrupt(ForeignText),
    Packet,
}

/// When the stimuli of a chain occurred.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrivals {
    pub count: usize,
    /// Median distance of two stimuli, in ns.
    pub period_ns: i64,
    /// Largest deviation of a distance from the period, in ns.
    pub jitter_ns: i64,
    /// By the number of stimuli, ascending.
    pub curve: Vec<ArrivalBound>,
}

/// The shortest and the longest span in ns that `events` consecutive stimuli took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrivalBound {
    pub events: usize,
    pub span_ns_min: i64,
    pub span_ns_max: i64,
}
