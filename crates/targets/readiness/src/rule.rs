//! The definition of a rule and its possible results.

use super::machine::Machine;
use super::unknown::Unknown;
use serde::{Deserialize, Serialize};

/// Severity of a finding, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; costs little, or depends on what the machine is for.
    Notice,
    /// Costs latency, or makes it unpredictable.
    Warning,
    /// Real-time work fails there, or is late by milliseconds.
    Severe,
}

impl Severity {
    /// The word for it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Severe => "severe",
        }
    }
}

/// The fix of a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fix {
    /// Write the value to the file, now and until the next boot; writing the old value undoes it.
    Write { path: String, value: String },
    /// Boot with this on the kernel's command line: `name` or `name=value`.
    Boot { argument: String },
    /// Boot without this word of the kernel's command line, which must match exactly.
    BootWithout { argument: String },
    /// Build, or install, a kernel with this line in its configuration.
    Build { line: String },
    /// Something that the user has to do.
    ByHand { text: String },
}

impl Fix {
    /// The action, behind a word for when or how.
    pub fn described(&self) -> (&'static str, String) {
        match self {
            Self::Write { path, value } => ("now", format!("echo {value} > {path}")),
            Self::Boot { argument } => ("boot", format!("with {argument}")),
            Self::BootWithout { argument } => ("boot", format!("without {argument}")),
            Self::Build { line } => ("build", line.clone()),
            Self::ByHand { text } => ("do", text.clone()),
        }
    }
}

/// One occurrence of what a rule looks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sign {
    /// The finding, in one sentence without the full stop.
    pub what: String,
    /// Distinguishes it from other findings of the rule, and is stable over time.
    pub key: String,
    /// If it differs from that of the rule.
    pub severity: Option<Severity>,
    pub fixes: Vec<Fix>,
}

impl Sign {
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), key: String::new(), severity: None, fixes: Vec::new() }
    }

    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self
    }

    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = Some(severity);
        self
    }

    pub fn write(mut self, path: impl Into<String>, value: impl Into<String>) -> Self {
        self.fixes.push(Fix::Write { path: path.into(), value: value.into() });
        self
    }

    pub fn boot(mut self, argument: impl Into<String>) -> Self {
        self.fixes.push(Fix::Boot { argument: argument.into() });
        self
    }

    pub fn boot_without(mut self, argument: impl Into<String>) -> Self {
        self.fixes.push(Fix::BootWithout { argument: argument.into() });
        self
    }

    pub fn build(mut self, line: impl Into<String>) -> Self {
        self.fixes.push(Fix::Build { line: line.into() });
        self
    }

    pub fn by_hand(mut self, text: impl Into<String>) -> Self {
        self.fixes.push(Fix::ByHand { text: text.into() });
        self
    }
}

/// Result of a rule: signs, or none if all is well or the machine lacks the feature.
pub type Look = Result<Vec<Sign>, Unknown>;

/// One rule.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// `group.thing`; never changes.
    pub id: &'static str,
    /// The defect that a finding of it shows.
    pub title: &'static str,
    /// Why that costs latency.
    pub reason: &'static str,
    /// Title of the document that supports this.
    pub source: &'static str,
    /// Default severity of its findings.
    pub severity: Severity,
    pub look: fn(&Machine) -> Look,
}

/// No sign.
pub fn fine() -> Look {
    Ok(Vec::new())
}

/// One sign if `so`.
pub fn sign_if(so: bool, sign: impl FnOnce() -> Sign) -> Look {
    Ok(if so { vec![sign()] } else { Vec::new() })
}
