//! The documentation of a culprit in the catalogue: the text of docs/reference/culprits.md, and how reliable it is.

/// The evidence for recognising a culprit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// The corpus contains a recorded wake-up that it caused, from a real machine or a virtual one.
    Real,
    /// The corpus contains a synthetic trace, made from what kernels are known to record.
    MadeUp,
    /// No event that is always recorded shows it, or no real trace of it is known: it is never more than a hint.
    Unproven,
}

/// The user documentation of a culprit.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// What must be in the trace.
    pub recognised: &'static str,
    /// The command that confirms it.
    pub confirm: &'static str,
    /// What to change.
    pub fix: &'static str,
    /// Titles of pages of the kernel documentation.
    pub reading: &'static [&'static str],
    pub proof: Proof,
}

impl Proof {
    /// The evidence in a few words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Real => "seen in a recorded trace",
            Self::MadeUp => "recognised in a made-up trace",
            Self::Unproven => "unproven",
        }
    }
}
