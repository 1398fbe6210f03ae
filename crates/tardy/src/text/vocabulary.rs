//! The archive's vocabulary in the few letters that a terminal has room for.

use archive::explanation::{Confidence, OwnerKind};

/// How sure a finding is, in words.
pub fn confidence_word(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Hint => "a hint",
        Confidence::Likely => "likely",
        Confidence::Certain => "certain",
    }
}

/// What kind of owner it is, before its name.
pub fn owner_word(kind: OwnerKind) -> &'static str {
    match kind {
        OwnerKind::Nmi => "NMI",
        OwnerKind::Hardirq => "interrupt",
        OwnerKind::Softirq => "softirq",
        OwnerKind::Task => "task",
        OwnerKind::RtTask => "RT task",
        OwnerKind::Own => "own thread",
        OwnerKind::Tool => "tardy",
        OwnerKind::Idle => "idle",
        OwnerKind::SilenceThisCpu => "silence here:",
        OwnerKind::SilenceAllCpus => "silence everywhere:",
        OwnerKind::Untraced => "untraced",
    }
}
