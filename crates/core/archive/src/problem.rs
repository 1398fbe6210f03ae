//! Problems of a run as values: a stable code for programs, a severity, and a sentence for the user.
//!
//! Each crate with problems has enums of them. A variant declares its problem with two attributes: thiserror's
//! `#[error("...")]` is the sentence, and `#[problem(...)]` the rest:
//!
//! ```
//! use archive::problem::{Problem, ProblemKind};
//! use thiserror::Error;
//!
//! #[derive(Debug, Error, Problem)]
//! pub enum PlaceProblem {
//!     #[error("the login on board {board} is not root")]
//!     #[problem(code = "place.not-root", meaning = "The login is not root.", fix = "log in as root")]
//!     NotRoot { board: String },
//!     #[error("place {place} stays acquired")]
//!     #[problem(
//!         code = "place.kept",
//!         meaning = "You had acquired the place before.",
//!         fix = "when you are done with it: {release}",
//!         documented_fix = "release it when you are done"
//!     )]
//!     Kept { place: String, release: String },
//! }
//!
//! let kept = PlaceProblem::Kept { place: "lab".into(), release: "labgrid-client release".into() };
//! assert_eq!(kept.code(), "place.kept");
//! assert_eq!(kept.fix(), "when you are done with it: labgrid-client release");
//! assert_eq!(PlaceProblem::KEPT.fix, "release it when you are done");
//! assert_eq!(PlaceProblem::DEFINITIONS, [PlaceProblem::NOT_ROOT, PlaceProblem::KEPT]);
//! ```
//!
//! * `code` is `area.what-happened`; codes are never reused.
//! * `meaning` is a sentence about what happened, for the documentation.
//! * `fix` follows a colon in a message and begins a sentence in the documentation: a literal, a format string that
//!   names fields, or a constant. It is empty if nothing can be done.
//! * `fix_with` instead of `fix` is an expression that reads the fields.
//! * `documented_fix` is required where the fix depends on fields, and allowed where the sentence already names the fix.
//! * `same_as = Variant` alone shares code and fix with another variant, `same_as = Type::Variant` with one of another type.
//! * `transparent` alone is for a variant that contains a problem.
//!
//! A forgotten key does not compile. `docs/reference/problems.md` is generated from the [`Definition`]s. No code
//! compares or searches the sentences.

pub use problem_derive::Problem;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// Kind of the problem: `area.what-happened`, such as `meter.clock-stepped`. Codes are never reused.
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

    /// The fix; empty if there is none.
    fn fix(&self) -> String {
        String::new()
    }
}

/// The entry of one code in `docs/reference/problems.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition {
    pub code: &'static str,
    /// The event, in one or two sentences.
    pub meaning: &'static str,
    /// The fix.
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
    /// The fix; empty if there is none. Older archives call it `mend`.
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
        let old: Remark = serde_json::from_str(r#""a line""#).unwrap();
        assert_eq!(old, Remark { code: Code::UNCLASSIFIED, text: "a line".into() });
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
