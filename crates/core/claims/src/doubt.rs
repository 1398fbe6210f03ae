//! Properties of a machine whose latencies cannot show that a real-time limit holds.

use serde::{Deserialize, Serialize};

/// A property of a machine that prevents it from passing a real-time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DoubtKind {
    /// A program emulates the processor.
    Emulated,
    /// A hypervisor schedules its virtual CPUs.
    Virtual,
    Container,
    /// The kernel is not PREEMPT_RT, or this is unknown.
    NonRt,
    /// Nothing is known of the machine.
    Unknown,
}

impl DoubtKind {
    pub const ALL: [Self; 5] = [Self::Emulated, Self::Virtual, Self::Container, Self::NonRt, Self::Unknown];

    /// The kind that a command-line word accepts.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// The command-line word that accepts it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Emulated => "emulated",
            Self::Virtual => "virtual",
            Self::Container => "container",
            Self::NonRt => "non-rt",
            Self::Unknown => "unknown",
        }
    }
}

/// A doubt and its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubt {
    pub kind: DoubtKind,
    pub text: String,
}

/// The evidence of a doubt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DoubtEvidence {
    VirtualTime,
    Emulated,
    /// The archive describes no machine.
    NoEnvironment,
    Hypervisor(String),
    Container(String),
    NotPreemptRt,
    PreemptRtUnknown,
}

impl DoubtEvidence {
    /// The kind that a user accepts.
    pub fn kind(&self) -> DoubtKind {
        match self {
            Self::VirtualTime | Self::Emulated => DoubtKind::Emulated,
            Self::NoEnvironment => DoubtKind::Unknown,
            Self::Hypervisor(_) => DoubtKind::Virtual,
            Self::Container(_) => DoubtKind::Container,
            Self::NotPreemptRt | Self::PreemptRtUnknown => DoubtKind::NonRt,
        }
    }
}
