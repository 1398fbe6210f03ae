//! The documentation of a culprit in the catalogue, with `words` the text of docs/reference/culprits.md: how it is
//! recognised, which events prove it, and how reliable that is.

use archive::explanation::Confidence;

/// The evidence for recognising a culprit. Only a recorded wake-up lets a finding be surer than a hint, so nothing else has a
/// confidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// The corpus contains a recorded wake-up that it caused, from a real machine or a virtual one. A finding is never surer.
    Real { at_most: Confidence },
    /// The corpus contains a synthetic trace, made from what kernels are known to record.
    MadeUp,
    /// No event that is always recorded shows it, or no trace of it is known.
    Unproven,
}

/// The user documentation of a culprit.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// Events that must be in the trace.
    pub recognised: &'static str,
    /// All of them are in the trace of a wake-up that is explained so; of an event with alternatives, `a|b`, any.
    /// `function` stands for the records of the function tracers.
    pub events: &'static [&'static str],
    /// The conclusion from them.
    pub shows: &'static str,
    /// Titles of pages of the kernel documentation.
    pub reading: &'static [&'static str],
    pub proof: Proof,
    /// Events and facts that would show another culprit in the same time. In a recording of another tool that lacks any of it, a finding is a hint.
    pub refuted_by: &'static [Unrecorded],
}

/// A part of the trace that recordings of other tools may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unrecorded {
    Interrupts,
    Timers,
    /// Of a thread without a real-time priority: a timer shows that its group used up a quota.
    TimersOfQuota,
    /// While the thread was kept off the CPU: a timer shows that real-time threads were throttled.
    TimersOfThrottling,
    /// After the thread was due to be awake.
    Migration,
    /// Without its wake-up the thread may have been stopped or frozen.
    WakeUp,
    /// A switch that must have happened, on any CPU.
    Switch,
    /// All switches of a CPU for which a thread was woken.
    SwitchesOfCpu,
    /// Events that were lost between due and seen.
    LostEvents,
}

pub const SWITCHED: &[&str] = &["sched_switch", "sched_wakeup|sched_waking"];
pub const WORKED: &[&str] = &["sched_switch", "sched_wakeup|sched_waking", "workqueue_execute_start|sched_switch"];
pub const CALLED: &[&str] = &["csd_function_entry|call_function_entry|call_function_single_entry"];
pub const SERVED: &[&str] = &["irq_handler_entry|sched_switch"];
pub const EXPIRED: &[&str] = &["hrtimer_expire_entry|timer_expire_entry"];

impl Proof {
    /// The confidence that a finding never exceeds.
    pub fn at_most(self) -> Confidence {
        match self {
            Self::Real { at_most } => at_most,
            Self::MadeUp | Self::Unproven => Confidence::Hint,
        }
    }

    /// The evidence in a few words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Real { .. } => "seen in a recorded trace",
            Self::MadeUp => "recognised in a made-up trace",
            Self::Unproven => "unproven",
        }
    }
}

impl Unrecorded {
    /// The part in a few words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Interrupts => "the events of interrupts",
            Self::Timers => "the events of timers",
            Self::TimersOfQuota => "the events of timers, if the thread has no real-time priority",
            Self::TimersOfThrottling => "the events of timers, if the thread was kept off the CPU",
            Self::Migration => "sched_migrate_task, if the thread was to be awake",
            Self::WakeUp => "the wake-up of the thread",
            Self::Switch => "a switch that must have happened, on any CPU",
            Self::SwitchesOfCpu => "all switches of a CPU for which a thread was woken",
            Self::LostEvents => "some events between due and seen, which its recorder lost",
        }
    }
}
