//! Audits in the formats of code scanning and of test systems: one file for each, one line for each in [`FORMATS`].

mod document;
mod junit;
mod sarif;

use audit::report::AuditReport;
use std::fmt::Debug;

/// An audit to write.
pub struct Audited<'a> {
    pub report: &'a AuditReport,
    /// Names the program.
    pub whom: &'a str,
    /// Whether a thread must not have the habit of this rule.
    pub denied: &'a dyn Fn(&str) -> bool,
}

/// A format of `tardy audit`.
pub trait AuditFormat: Debug + Sync {
    /// The word for `--format`.
    fn name(&self) -> &'static str;

    /// A line of help.
    fn about(&self) -> &'static str;

    /// The document.
    ///
    /// # Errors
    /// If it cannot be represented in JSON.
    fn document(&self, audited: &Audited<'_>) -> serde_json::Result<Vec<u8>>;
}

/// The document that programs read.
pub const JSON: &dyn AuditFormat = &document::Json;

/// Every format, in the order of the help.
pub const FORMATS: &[&dyn AuditFormat] = &[JSON, &sarif::Sarif, &junit::Junit];
