//! What the catalogue says of a culprit beside looking for it: the words of docs/reference/culprits.md, and how far it can be
//! trusted.

/// What recognising a culprit rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// The corpus holds a recorded wake-up that it caused, of a real machine or a virtual one.
    Real,
    /// The corpus holds a trace that was made up from what kernels are known to record.
    MadeUp,
    /// No event that is always recorded shows it, or nobody has seen its trace: it is never more than a hint.
    Unproven,
}

/// A culprit in words, for people who meet it.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// What must be in the trace.
    pub recognised: &'static str,
    /// What to run to be sure.
    pub confirm: &'static str,
    /// What to change.
    pub fix: &'static str,
    /// Titles of pages of the kernel's documentation.
    pub reading: &'static [&'static str],
    pub proof: Proof,
}

impl Proof {
    /// The proof in a few words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Real => "seen in a recorded trace",
            Self::MadeUp => "recognised in a made-up trace",
            Self::Unproven => "unproven",
        }
    }
}
