//! The result of a check.

use super::accepted::Accepted;
use super::finding::Finding;
use super::machine::Machine;
use super::rule::{Look, Rule, Severity};
use serde::Serialize;

/// A rule that could not be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotKnown {
    pub id: String,
    pub title: String,
    pub why: String,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Readiness {
    pub kernel_release: String,
    pub hostname: String,
    /// CPUs that were judged as those of the real-time work, `1-3`.
    pub cpus_realtime: String,
    /// CPUs for everything else.
    pub cpus_housekeeping: String,
    /// Whether the real-time CPUs should do nothing else.
    pub dedicated: bool,
    pub priority: u8,
    /// The worst first.
    pub findings: Vec<Finding>,
    pub not_known: Vec<NotKnown>,
    /// Unused lines of the file of accepted findings.
    pub accepted_unused: Vec<String>,
    /// Number of evaluated rules and assertions.
    pub asked: u32,
}

impl Readiness {
    pub(super) fn of(machine: &Machine) -> Self {
        Self {
            kernel_release: machine.facts.environment.kernel_release.clone(),
            hostname: machine.facts.environment.hostname.clone(),
            cpus_realtime: machine.realtime.to_string(),
            cpus_housekeeping: machine.housekeeping().to_string(),
            dedicated: machine.dedicated,
            priority: machine.priority,
            findings: Vec::new(),
            not_known: Vec::new(),
            accepted_unused: Vec::new(),
            asked: 0,
        }
    }

    pub(super) fn take(&mut self, rule: &Rule, look: Look) {
        self.asked += 1;
        match look {
            Ok(signs) => self.findings.extend(signs.into_iter().map(|sign| Finding::of(rule, sign))),
            Err(unknown) => {
                self.not_known.push(NotKnown { id: rule.id.into(), title: rule.title.into(), why: unknown.0 });
            }
        }
    }

    /// Marks accepted findings and sorts by severity; accepted ones come last.
    pub(super) fn close(&mut self, accepted: &[Accepted]) {
        for finding in &mut self.findings {
            let found = accepted.iter().find(|one| one.fits(&finding.id, &finding.fingerprint));
            finding.accepted = found.map(|one| one.reason.clone());
        }
        let fits = |one: &Accepted| self.findings.iter().any(|finding| one.fits(&finding.id, &finding.fingerprint));
        self.accepted_unused = accepted.iter().filter(|one| !fits(one)).map(Accepted::line).collect();
        self.findings.sort_by_key(|finding| (finding.accepted.is_some(), std::cmp::Reverse(finding.severity)));
    }

    /// Findings that are not accepted.
    pub fn open(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.accepted.is_none())
    }

    /// Findings to fix: the open ones, with notices only on request.
    pub fn to_fix(&self, notices: bool) -> impl Iterator<Item = &Finding> {
        self.open().filter(move |finding| notices || finding.severity > Severity::Notice)
    }

    /// Whether nothing is worse than a notice, without accepted findings.
    pub fn is_ready(&self) -> bool {
        self.open().all(|finding| finding.severity == Severity::Notice)
    }
}
