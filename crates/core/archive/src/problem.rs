//! Problems of a run as values: a stable code for programs, a severity, and a sentence for the user.
//!
//! Each crate with problems has an enum of them that implements [`ProblemKind`], and a list of [`Definition`]s from
//! which `docs/problems.md` is generated. No code compares or searches the sentences.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// What kind of problem it is: `area.what-happened`, such as `meter.clock-stepped`. Codes are never reused.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Code(Cow<'static, str>);

impl Code {
    /// For archives written before problems had codes.
    pub const UNCLASSIFIED: Self = Self::new("unclassified");

    /// A code this program knows.
    pub const fn new(code: &'static str) -> Self {
        Self(Cow::Borrowed(code))
    }

    /// The code as it is stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The area of the problem, the part before the dot: `meter` of `meter.clock-stepped`.
    pub fn area(&self) -> &str {
        self.0.split('.').next().unwrap_or_default()
    }
}

impl Default for Code {
    fn default() -> Self {
        Self::UNCLASSIFIED
    }
}

impl fmt::Display for Code {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl PartialEq<&str> for Code {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

/// A value that can become a [`Problem`]. Its `Display` is the sentence for the user, without the fix.
pub trait ProblemKind: fmt::Display {
    /// The stable code of the variant, without its parameters.
    fn code(&self) -> Code;

    /// What to do about it; empty if nothing can be done.
    fn fix(&self) -> String {
        String::new()
    }
}

/// The entry of one code in `docs/problems.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition {
    pub code: &'static str,
    /// What happened, in one or two sentences.
    pub meaning: &'static str,
    /// What to do about it.
    pub fix: &'static str,
}

/// Something that did not go as requested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Problem {
    /// `unclassified` in archives written before problems had codes.
    #[serde(default)]
    pub code: Code,
    pub severity: Severity,
    pub text: String,
    /// What to do about it; empty if nothing can be done. Older archives call it `mend`.
    #[serde(alias = "mend")]
    pub fix: String,
}

impl Problem {
    /// A problem of this kind, with its sentence and fix.
    pub fn new(severity: Severity, kind: &impl ProblemKind) -> Self {
        Self { code: kind.code(), severity, text: kind.to_string(), fix: kind.fix() }
    }
}

/// A sentence about a run with its code. Older archives have only the sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredRemark")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Remark {
    pub code: Code,
    pub text: String,
}

impl Remark {
    /// A remark of this kind, with its sentence.
    pub fn new(kind: &impl ProblemKind) -> Self {
        Self { code: kind.code(), text: kind.to_string() }
    }

    /// Several remarks as one sentence.
    pub fn joined(remarks: &[Self]) -> String {
        remarks.iter().map(|remark| remark.text.as_str()).collect::<Vec<_>>().join("; ")
    }
}

impl From<&Problem> for Remark {
    fn from(problem: &Problem) -> Self {
        Self { code: problem.code.clone(), text: problem.text.clone() }
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

/// A remark in the format of any archive version.
#[derive(Deserialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
enum StoredRemark {
    Text(String),
    Coded { code: Code, text: String },
}

impl From<StoredRemark> for Remark {
    fn from(stored: StoredRemark) -> Self {
        match stored {
            StoredRemark::Text(text) => Self { code: Code::UNCLASSIFIED, text },
            StoredRemark::Coded { code, text } => Self { code, text },
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Severity {
    /// Worth knowing.
    Notice,
    /// The figures are valid, but not for what was requested.
    Degraded,
    /// The figures must not be used.
    Invalid,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_of_older_archives_have_no_code_and_a_fix_under_its_old_name() {
        let old: Problem = serde_json::from_str(r#"{"severity":"notice","text":"a","mend":"b"}"#).unwrap();
        assert_eq!(
            old,
            Problem { code: Code::UNCLASSIFIED, severity: Severity::Notice, text: "a".into(), fix: "b".into() }
        );
    }

    #[test]
    fn remarks_of_older_archives_are_sentences_without_a_code() {
        let old: Remark = serde_json::from_str(r#""the first line""#).unwrap();
        assert_eq!(old, Remark { code: Code::UNCLASSIFIED, text: "the first line".into() });
        let new = Remark { code: Code::new("import.version-unknown"), text: "the version".into() };
        let stored = serde_json::to_string(&new).unwrap();
        assert_eq!(serde_json::from_str::<Remark>(&stored).unwrap(), new);
        assert_eq!((new.code.area(), old.code.area()), ("import", "unclassified"));
    }

    #[test]
    fn a_code_is_stored_as_plain_text() {
        struct Kind;
        impl fmt::Display for Kind {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("the clock was stepped")
            }
        }
        impl ProblemKind for Kind {
            fn code(&self) -> Code {
                Code::new("meter.clock-stepped")
            }
        }
        let problem = Problem::new(Severity::Notice, &Kind);
        assert_eq!(problem.code, "meter.clock-stepped");
        let text = serde_json::to_string(&problem).unwrap();
        assert!(text.starts_with(r#"{"code":"meter.clock-stepped","severity":"notice""#), "{text}");
    }
}
