//! Why a run could not be made, and what did not go as asked.

use crate::kernel_tracer::refusal::Refusal;
use archive::message::Severity;
use archive::settings::RunSettings;

/// Why a run could not be made, with the fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub text: String,
    pub fix: String,
}

impl Failure {
    pub(crate) fn new(text: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { text: text.into(), fix: fix.into() }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self { text: refusal.text, fix: refusal.fix }
    }
}

/// How bad it is when the kernel refused something that was asked for.
pub fn severity_of_refusal(settings: &RunSettings) -> Severity {
    if settings.degrade { Severity::Degraded } else { Severity::Invalid }
}
