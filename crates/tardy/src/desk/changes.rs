//! Settings that a desk changed, with what they were before and after: what they return to, and what another program set meanwhile.

use archive::facts::Applied;
use archive::settings::{SettingChange, chosen, same_setting};
use std::collections::BTreeMap;

/// Made changes by the fingerprint of their finding.
#[derive(Debug, Default)]
pub struct Changes(BTreeMap<String, Vec<Made>>);

#[derive(Debug)]
struct Made {
    path: String,
    before: String,
    /// As the kernel showed it after the change; `None` if it could not be read.
    after: Option<String>,
}

/// A setting that keeps its value, and why.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused {
    pub path: String,
    pub why: String,
}

/// How a change is undone.
#[derive(Debug, PartialEq, Eq)]
pub struct Return {
    /// The last change first.
    pub writes: Vec<SettingChange>,
    pub refused: Vec<Refused>,
}

impl Changes {
    pub fn has(&self, fingerprint: &str) -> bool {
        self.0.contains_key(fingerprint)
    }

    /// Settings that differ from before.
    pub fn count(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// Notes what was made of a finding; what was noted before stays. Returns what was not made.
    pub fn add(
        &mut self,
        fingerprint: &str,
        applied: Vec<Applied>,
        now: &dyn Fn(&str) -> Option<String>,
    ) -> Option<String> {
        let refused = refusals(&applied);
        let made = applied.into_iter().filter(|one| one.problem.is_none());
        let made: Vec<Made> = made
            .map(|one| Made { after: now(&one.path), path: one.path, before: one.before.unwrap_or_default() })
            .collect();
        if !made.is_empty() {
            self.0.entry(fingerprint.to_owned()).or_insert(made);
        }
        said(&refused)
    }

    /// Settings that undo the change of a finding.
    pub fn to_undo(&self, fingerprint: &str, now: &dyn Fn(&str) -> Option<String>) -> Return {
        let mut back = Return { writes: Vec::new(), refused: Vec::new() };
        for made in self.0.get(fingerprint).into_iter().flatten().rev() {
            let now = now(&made.path);
            let is = |value: &str| now.as_deref().is_some_and(|now| same_setting(now, value));
            if is(&made.before) {
                continue;
            }
            match (&now, &made.after) {
                (Some(now), Some(after)) if !same_setting(now, after) => {
                    let (now, before) = (chosen(now.trim()), chosen(made.before.trim()));
                    let why = format!(
                        "another program set it to {now:?} meanwhile; write {before:?} yourself if nothing needs that"
                    );
                    back.refused.push(Refused { path: made.path.clone(), why });
                }
                _ => back
                    .writes
                    .push(SettingChange { path: made.path.clone(), value: chosen(made.before.trim()).to_owned() }),
            }
        }
        back
    }

    /// Forgets the change of a finding, except settings that still have their new value.
    pub fn undone(&mut self, fingerprint: &str, refused: &[Refused]) {
        if let Some(made) = self.0.get_mut(fingerprint) {
            made.retain(|made| refused.iter().any(|refused| refused.path == made.path));
            if made.is_empty() {
                self.0.remove(fingerprint);
            }
        }
    }
}

/// Changes that were not made.
pub fn refusals(applied: &[Applied]) -> Vec<Refused> {
    let refused = |one: &Applied| Some(Refused { path: one.path.clone(), why: one.problem.clone()? });
    applied.iter().filter_map(refused).collect()
}

/// As text; `None` without any.
pub fn said(refused: &[Refused]) -> Option<String> {
    let texts: Vec<String> = refused.iter().map(|one| format!("{}: {}", one.path, one.why)).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(path: &str, before: &str) -> Applied {
        Applied { path: path.into(), value: "never".into(), before: Some(before.into()), problem: None }
    }

    fn after(_: &str) -> Option<String> {
        Some("always madvise [never]\n".into())
    }

    fn written(back: &Return) -> Vec<(&str, &str)> {
        back.writes.iter().map(|write| (write.path.as_str(), write.value.as_str())).collect()
    }

    fn changed() -> Changes {
        let mut changes = Changes::default();
        let made = vec![applied("/first", "always [madvise] never"), applied("/second", "[always] madvise never")];
        assert_eq!(changes.add("one", made, &after), None);
        changes
    }

    #[test]
    fn a_change_is_undone_in_reverse_by_the_value_that_was_chosen() {
        let mut changes = changed();
        let back = changes.to_undo("one", &after);
        assert_eq!(written(&back), [("/second", "always"), ("/first", "madvise")]);
        changes.undone("one", &back.refused);
        assert!(!changes.has("one") && changes.count() == 0);
    }

    #[test]
    fn a_second_change_keeps_what_was_there_before_the_first() {
        let mut changes = changed();
        assert_eq!(changes.add("one", Vec::new(), &after), None);
        changes.add("one", vec![applied("/first", "always madvise [never]")], &after);
        assert_eq!(written(&changes.to_undo("one", &after)), [("/second", "always"), ("/first", "madvise")]);
    }

    #[test]
    fn what_another_program_set_meanwhile_stays() {
        let mut changes = changed();
        let now = |path: &str| match path {
            "/first" => Some("[always] madvise never\n".to_owned()),
            _ => after(path),
        };
        let back = changes.to_undo("one", &now);
        assert_eq!(written(&back), [("/second", "always")]);
        assert!(back.refused[0].path == "/first" && back.refused[0].why.contains("\"always\""), "{back:?}");
        changes.undone("one", &back.refused);
        assert_eq!((changes.has("one"), changes.count()), (true, 1));
        let as_before = |_: &str| Some("always [madvise] never\n".to_owned());
        let back = changes.to_undo("one", &as_before);
        assert_eq!(back, Return { writes: Vec::new(), refused: Vec::new() });
        changes.undone("one", &back.refused);
        assert!(!changes.has("one"));
    }

    #[test]
    fn a_refused_change_is_none() {
        let mut changes = Changes::default();
        let refused = Applied { problem: Some("no".into()), ..applied("/first", "1") };
        assert_eq!(changes.add("one", vec![refused], &after), Some("/first: no".into()));
        assert!(!changes.has("one"));
    }
}
