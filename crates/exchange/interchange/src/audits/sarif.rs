//! SARIF 2.1.0 (OASIS), as code scanning reads it: one result for each finding.

use super::{AuditFormat, Audited};
use crate::json;
use audit::report::AuditReport;
use audit::rules::{Habit, RULES};
use serde_json::{Value, json};

#[derive(Debug)]
pub struct Sarif;

impl AuditFormat for Sarif {
    fn name(&self) -> &'static str {
        "sarif"
    }

    fn about(&self) -> &'static str {
        "For code scanning, as GitHub and GitLab show it"
    }

    fn document(&self, audited: &Audited<'_>) -> serde_json::Result<Vec<u8>> {
        json::line(&document(audited.report, audited.denied))
    }
}

/// The document; habits that are denied are errors, the others warnings.
fn document(report: &AuditReport, denied: &dyn Fn(&str) -> bool) -> Value {
    let rules: Vec<Value> = RULES
        .iter()
        .map(|rule| {
            json!({
                "id": rule.name,
                "shortDescription": { "text": format!("A real-time thread {}", rule.title) },
                "fullDescription": { "text": rule.why },
                "help": { "text": rule.instead },
            })
        })
        .collect();
    let results: Vec<Value> = report.findings.iter().map(|finding| result(finding, denied(finding.rule))).collect();
    json!({
        "version": "2.1.0",
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "runs": [{
            "tool": { "driver": {
                "name": "tardy audit",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "results": results,
        }],
    })
}

fn result(finding: &Habit, denied: bool) -> Value {
    let rule = RULES.iter().find(|rule| rule.name == finding.rule);
    let text = format!("{} {}: {}", finding.thread, rule.map_or("", |rule| rule.title), finding.what);
    let frames: Vec<Value> = finding
        .stack
        .iter()
        .map(|frame| {
            let name = frame.function.clone().unwrap_or_else(|| format!("{:#x}", frame.address));
            json!({ "location": {
                "message": { "text": name },
                "physicalLocation": { "address": { "absoluteAddress": frame.address, "fullyQualifiedName": name } },
            } })
        })
        .collect();
    let mut result = json!({
        "ruleId": finding.rule,
        "level": if denied { "error" } else { "warning" },
        "message": { "text": text },
        "locations": [{ "logicalLocations": [{ "name": finding.thread, "kind": "thread" }] }],
        "properties": { "count": finding.count, "worst_ns": finding.worst_ns, "tid": finding.tid, "pid": finding.pid },
    });
    if !frames.is_empty() {
        result["stacks"] = json!([{ "message": { "text": "from, innermost first" }, "frames": frames }]);
    }
    result
}
