//! Checks that settings changed by a run stay unchanged while it measures.

use crate::journal::read_setting;
use crate::problem::MeterProblem;
use archive::message::{Problem, Severity};
use archive::settings::same_setting;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files of the kernel's tracing, which the kernel itself changes.
const TRACING: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug"];

/// Settings with their required values.
#[derive(Debug, Default)]
pub struct HeldSettings(BTreeMap<PathBuf, String>);

impl HeldSettings {
    pub fn new(mut settings: BTreeMap<PathBuf, String>) -> Self {
        let of_tracing = |path: &Path| TRACING.iter().any(|root| path.starts_with(root));
        settings.retain(|path, _| !of_tracing(path));
        Self(settings)
    }

    /// Settings that have a different value now; each is reported once.
    pub fn changes(&mut self) -> Vec<Problem> {
        let mut problems = Vec::new();
        self.0.retain(|path, wanted| {
            let Ok(now) = read_setting(path) else { return true };
            let now = now.trim_end().to_owned();
            if now == *wanted || same_setting(&now, wanted) {
                return true;
            }
            let kind = MeterProblem::SettingChanged { path: path.clone(), now, wanted: wanted.clone() };
            problems.push(Problem::new(Severity::Invalid, &kind));
            false
        });
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_another_program_changes_is_reported_once_and_another_form_of_its_value_is_no_change() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for name in ["changed", "kept"] {
            std::fs::write(path(name), "always [madvise] never\n").unwrap();
        }
        let settings = ["changed", "kept"].map(|name| (path(name), "madvise".to_owned()));
        let mut held = HeldSettings::new(settings.into());
        assert_eq!(held.changes(), []);
        std::fs::write(path("changed"), "[always] madvise never\n").unwrap();
        let changes = held.changes();
        assert!(
            matches!(&changes[..], [Problem { severity: Severity::Invalid, text, .. }] if text.contains("changed")),
            "{changes:?}"
        );
        assert_eq!(held.changes(), []);
    }

    #[test]
    fn settings_that_the_kernel_writes_are_not_checked() {
        let of_tracing = PathBuf::from("/sys/kernel/tracing/instances/tardy-1-a/tracing_max_latency");
        assert!(HeldSettings::new(BTreeMap::from([(of_tracing, "0".into())])).0.is_empty());
    }
}
