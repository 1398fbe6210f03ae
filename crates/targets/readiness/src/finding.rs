//! A finding of a rule, with the fingerprint by which users accept it.

use super::rule::{Fix, Rule, Severity, Sign};
use serde::Serialize;

/// Something that is not as real-time work needs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Identifier of the rule; never changes.
    pub id: String,
    /// Twelve hexadecimal digits for this finding of the rule, the same on every machine and at any time.
    pub fingerprint: String,
    pub severity: Severity,
    pub title: String,
    /// The value that was found.
    pub what: String,
    /// Why it matters.
    pub reason: String,
    pub fixes: Vec<Fix>,
    /// Title of the document that supports this.
    pub source: String,
    /// Why the user accepted it; it is then ignored.
    pub accepted: Option<String>,
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

/// 48 bits of FNV-1a over identifier and key. It identifies; it is not a security measure.
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
        // Files of accepted findings contain these: they must never change.
        assert_eq!(fingerprint("memory.huge-pages", "always").len(), 12);
    }
}
