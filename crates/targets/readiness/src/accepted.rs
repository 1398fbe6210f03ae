//! Findings that the user accepts: a file with one line each.

use super::finding::Finding;
use thiserror::Error;

/// Why a line is not an accepted finding.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AcceptedError {
    #[error("a line is a fingerprint, or *, and the identifier of a rule, and `# why`")]
    Words,
    #[error("{0} is neither a fingerprint of twelve hexadecimal digits nor *")]
    Fingerprint(String),
}

/// One line: `FINGERPRINT  IDENTIFIER  # why`, or `*` instead of the fingerprint for every finding of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// `None` for every finding of the rule.
    fingerprint: Option<String>,
    id: String,
    pub reason: String,
}

impl Accepted {
    /// Parses a file. Blank lines and lines that start with `#` are ignored.
    ///
    /// # Errors
    /// Number of the first invalid line, and what is wrong with it.
    pub fn parse(text: &str) -> Result<Vec<Self>, (usize, AcceptedError)> {
        let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line.trim()));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        lines.map(|(number, line)| Self::of_line(line).map_err(|why| (number, why))).collect()
    }

    fn of_line(line: &str) -> Result<Self, AcceptedError> {
        let (line, reason) = line.split_once('#').unwrap_or((line, ""));
        let words: Vec<&str> = line.split_whitespace().collect();
        let [fingerprint, id] = words[..] else {
            return Err(AcceptedError::Words);
        };
        let is_fingerprint = fingerprint.len() == 12 && fingerprint.bytes().all(|byte| byte.is_ascii_hexdigit());
        if fingerprint != "*" && !is_fingerprint {
            return Err(AcceptedError::Fingerprint(fingerprint.into()));
        }
        let fingerprint = is_fingerprint.then(|| fingerprint.to_ascii_lowercase());
        Ok(Self { fingerprint, id: id.into(), reason: reason.trim().into() })
    }

    pub(super) fn fits(&self, id: &str, fingerprint: &str) -> bool {
        self.id == id && self.fingerprint.as_deref().is_none_or(|own| own == fingerprint)
    }

    pub(super) fn line(&self) -> String {
        format!("{} {}", self.fingerprint.as_deref().unwrap_or("*"), self.id)
    }
}

/// Lines that accept these findings.
pub fn acceptance_lines<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<String> {
    // Quoted text of the target must not start another line.
    let plain = |text: &str| text.replace(|letter: char| letter.is_control(), " ");
    findings.map(|finding| format!("{}  {}  # {}", finding.fingerprint, finding.id, plain(&finding.what))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_accepts_one_finding_or_all_of_a_rule() {
        let text = "# known\n\n0123456789AB  power.governor  # a reason\n* kernel.preempt-rt\n";
        let accepted = Accepted::parse(text).unwrap();
        assert_eq!(accepted[0].reason, "a reason");
        assert!(accepted[0].fits("power.governor", "0123456789ab"));
        assert!(!accepted[0].fits("power.governor", "0123456789ac") && !accepted[0].fits("power", "0123456789ab"));
        assert!(accepted[1].fits("kernel.preempt-rt", "whatever"));
        assert_eq!(Accepted::parse("ok\n").unwrap_err().0, 1);
        assert_eq!(Accepted::parse("\n12 power.governor").unwrap_err().0, 2);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(?s).{0,200}") {
            let _ = Accepted::parse(&text);
        }
    }
}
