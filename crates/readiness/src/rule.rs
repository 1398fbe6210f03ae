//! What a rule is, and what it may answer.

use super::machine::Machine;
use serde::{Deserialize, Serialize};

/// How bad a finding is, mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; costs little, or depends on what the machine is for.
    Notice,
    /// Costs latency, or makes it depend on luck.
    Warning,
    /// Real-time work does not work there, or is late by milliseconds.
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

/// What mends a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fix {
    /// Write the value to the file, now and until the next boot; writing the old value undoes it.
    Write { path: String, value: String },
    /// Boot with this on the kernel's command line: `name` or `name=value`.
    Boot { argument: String },
    /// Boot without this on the kernel's command line, which must be word for word what is there.
    BootWithout { argument: String },
    /// Build, or install, a kernel with this line in its configuration.
    Build { line: String },
    /// Something that a person has to do.
    ByHand { text: String },
}

/// One sign of what a rule looks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sign {
    /// What is so, in one sentence without its full stop.
    pub what: String,
    /// What tells it from other findings of the rule, and does not change by itself.
    pub key: String,
    /// Where it differs from that of the rule.
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

/// Why nothing can be said: a sentence without its full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown(pub String);

/// What looking gave: signs, none when all is well or the machine has nothing of the kind.
pub type Look = Result<Vec<Sign>, Unknown>;

/// One thing that is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Stable for ever: `family.thing`.
    pub id: &'static str,
    /// What is wrong when it finds something.
    pub title: &'static str,
    /// Why that costs latency.
    pub reason: &'static str,
    /// Title of the document that says so.
    pub source: &'static str,
    /// Of its findings, where they do not say otherwise.
    pub severity: Severity,
    pub look: fn(&Machine) -> Look,
}

/// No sign.
pub fn fine() -> Look {
    Ok(Vec::new())
}

/// One sign when something is so.
pub fn sign_if(so: bool, sign: impl FnOnce() -> Sign) -> Look {
    Ok(if so { vec![sign()] } else { Vec::new() })
}
