//! What a check came to.

use super::accepted::Accepted;
use super::machine::Machine;
use super::rule::{Fix, Look, Rule, Severity, Sign};
use serde::Serialize;

/// Something that is not as real-time work needs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Identifier of the rule: stable for ever.
    pub id: String,
    /// Twelve hexadecimal digits for this finding of the rule, the same on every machine and day it is made.
    pub fingerprint: String,
    pub severity: Severity,
    pub title: String,
    /// What is so here.
    pub what: String,
    /// Why that matters.
    pub reason: String,
    pub fixes: Vec<Fix>,
    /// Title of the document that says so.
    pub source: String,
    /// Why somebody accepted it; then it counts for nothing.
    pub accepted: Option<String>,
}

/// A rule that could not be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotKnown {
    pub id: String,
    pub title: String,
    pub why: String,
}

/// What a check came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Readiness {
    pub kernel_release: String,
    pub hostname: String,
    /// CPUs that were judged as those of the real-time work, `1-3`.
    pub cpus_realtime: String,
    /// Those for everything else.
    pub cpus_housekeeping: String,
    /// Whether the former are to do nothing else.
    pub dedicated: bool,
    pub priority: u8,
    /// The worst first.
    pub findings: Vec<Finding>,
    pub not_known: Vec<NotKnown>,
    /// Lines of the file of accepted findings that fit none.
    pub accepted_unused: Vec<String>,
    /// Rules and assertions that were asked.
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

    /// Marks what is accepted and brings the worst forward; what is accepted comes last.
    pub(super) fn close(&mut self, accepted: &[Accepted]) {
        for finding in &mut self.findings {
            let found = accepted.iter().find(|one| one.fits(&finding.id, &finding.fingerprint));
            finding.accepted = found.map(|one| one.reason.clone());
        }
        let fits = |one: &Accepted| self.findings.iter().any(|finding| one.fits(&finding.id, &finding.fingerprint));
        self.accepted_unused = accepted.iter().filter(|one| !fits(one)).map(Accepted::line).collect();
        self.findings.sort_by_key(|finding| (finding.accepted.is_some(), std::cmp::Reverse(finding.severity)));
    }

    /// Findings that nobody accepted.
    pub fn open(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.accepted.is_none())
    }

    /// Findings that are to be mended: the open ones, notices only where they are asked for.
    pub fn to_fix(&self, notices: bool) -> impl Iterator<Item = &Finding> {
        self.open().filter(move |finding| notices || finding.severity > Severity::Notice)
    }

    /// Whether nothing is worse than a notice, accepted findings aside.
    pub fn is_ready(&self) -> bool {
        self.open().all(|finding| finding.severity == Severity::Notice)
    }
}

impl Finding {
    pub(super) fn of(rule: &Rule, sign: Sign) -> Self {
        Self {
            id: rule.id.into(),
            fingerprint: fingerprint(rule.id, &sign.key),
            severity: sign.severity.unwrap_or(rule.severity),
            title: rule.title.into(),
            what: sign.what,
            reason: rule.reason.into(),
            fixes: sign.fixes,
            source: rule.source.into(),
            accepted: None,
        }
    }
}

/// FNV-1a over identifier and key, 48 bits of it. It names, it protects nothing.
pub(super) fn fingerprint(id: &str, key: &str) -> String {
    let bytes = id.bytes().chain([b'\n']).chain(key.bytes());
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{:012x}", hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_stay_what_they_are() {
        assert_eq!(fingerprint("memory.huge-pages", "always"), fingerprint("memory.huge-pages", "always"));
        assert_ne!(fingerprint("a", "b"), fingerprint("a", "c"));
        assert_ne!(fingerprint("ab", ""), fingerprint("a", "b"));
        // Files of accepted findings hold these: they must never change.
        assert_eq!(fingerprint("memory.huge-pages", "always").len(), 12);
    }
}
