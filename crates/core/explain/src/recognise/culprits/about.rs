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
