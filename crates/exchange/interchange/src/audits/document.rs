//! The audit as one JSON document.

use super::{AuditFormat, Audited};
use crate::json;

#[derive(Debug)]
pub struct Json;

impl AuditFormat for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn about(&self) -> &'static str {
        "Threads, findings and gaps in one document"
    }

    fn document(&self, audited: &Audited<'_>) -> serde_json::Result<Vec<u8>> {
        json::line(audited.report)
    }
}
