//! Settings of this machine that hurt real-time work: what `tardy check` finds, each to be changed and changed back.

use super::state::{Shared, locked};
use crate::measuring::machine::reporting;
use anyhow::Context;
use archive::facts::Applied;
use archive::settings::SettingChange;
use machines::stop::StopRequests;
use machines::{KnownTarget, Target};
use readiness::{Checklist, Finding, Fix, Profile, Subject, check, writes};
use runner::facts::{apply, gather};
use server::desk::{Change, CheckedSetting};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use words::printable::printable;
use words::shell::quoted;

const LIMIT: Duration = Duration::from_secs(25);

/// Looks at the settings, on a thread of its own. Another machine is busy with the measurement, and cannot be asked.
///
/// # Errors
/// If the thread cannot be made.
pub fn look(shared: &Arc<Shared>, measured: &KnownTarget) -> anyhow::Result<()> {
    if !measured.is_local() {
        let command = format!("tardy check --target {}", quoted(&printable(measured.name())));
        shared.update(|state| state.checks.command = Some(command));
        return Ok(());
    }
    let shared = Arc::clone(shared);
    let thread = thread::Builder::new().name("tardy:check".into());
    thread.spawn(move || look_now(&shared)).context("failed to start a thread")?;
    Ok(())
}

fn look_now(shared: &Shared) {
    match found(shared) {
        Ok(found) => shared.update(|state| {
            // A change that was made removes its finding, and stays on the page to be undone.
            let before = std::mem::take(&mut state.checks.findings);
            let is_there = |finding: &&CheckedSetting| found.iter().any(|one| one.fingerprint == finding.fingerprint);
            let changed: Vec<CheckedSetting> =
                before.iter().filter(|finding| finding.is_changed && !is_there(finding)).cloned().collect();
            let refused = |fingerprint: &str| before.iter().find(|one| one.fingerprint == fingerprint);
            let found = found.iter().map(|finding| {
                let before = refused(&finding.fingerprint);
                CheckedSetting {
                    refused: before.and_then(|before| before.refused.clone()),
                    is_changed: before.is_some_and(|before| before.is_changed),
                    ..shown(finding)
                }
            });
            state.checks.findings = changed.into_iter().chain(found).collect();
            (state.checks.is_known, state.checks.problem) = (true, None);
        }),
        Err(error) => shared.update(|state| state.checks.problem = Some(format!("{error:#}"))),
    }
}

fn found(shared: &Shared) -> anyhow::Result<Vec<Finding>> {
    let facts = with_target(&shared.meter, |target| Ok(gather(target, &shared.meter, shared.priority, LIMIT)?))?;
    let subject = Subject { cpus: None, priority: shared.priority, profile: Profile::Auto };
    let readiness = check(&facts, &subject, &Checklist::default(), &[]);
    Ok(readiness.to_fix(false).cloned().collect())
}

fn with_target<T>(meter: &Path, question: impl FnOnce(&mut dyn Target) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let mut target = KnownTarget::local().open(meter, reporting(), StopRequests::default())?;
    target.prepare()?;
    let answer = question(target.as_mut());
    let closed = target.close();
    let answer = answer?;
    closed?;
    Ok(answer)
}

fn shown(finding: &Finding) -> CheckedSetting {
    CheckedSetting {
        fingerprint: finding.fingerprint.clone(),
        severity: finding.severity.words().into(),
        title: finding.title.clone(),
        what: finding.what.clone(),
        reason: finding.reason.clone(),
        fixes: finding.fixes.iter().map(Fix::described).map(|(label, text)| (label.to_owned(), text)).collect(),
        can_change: !writes(std::iter::once(finding)).is_empty(),
        is_changed: false,
        refused: None,
    }
}

/// Makes or undoes the change of a finding, and looks at the settings again.
pub fn change(shared: &Shared, fingerprint: &str, change: Change) {
    let mut changes = locked(&shared.changes);
    let done = match change {
        Change::Apply => make(shared, fingerprint),
        Change::Undo => put_back(shared, changes.get(fingerprint).cloned().unwrap_or_default()),
    };
    let (refused, is_changed) = match (done, change) {
        (Ok(applied), Change::Apply) => {
            let refused = refusals(&applied);
            let made: Vec<Applied> = applied.into_iter().filter(|one| one.problem.is_none()).collect();
            let is_changed = !made.is_empty();
            if is_changed {
                changes.insert(fingerprint.to_owned(), made);
            }
            (refused, is_changed)
        }
        (Ok(applied), Change::Undo) => {
            let refused = refusals(&applied);
            if refused.is_none() {
                changes.remove(fingerprint);
            }
            (refused.clone(), refused.is_some())
        }
        (Err(error), change) => (Some(format!("{error:#}")), change == Change::Undo),
    };
    drop(changes);
    shared.update(|state| {
        if let Some(finding) = state.checks.findings.iter_mut().find(|finding| finding.fingerprint == fingerprint) {
            (finding.refused, finding.is_changed) = (refused, is_changed);
        }
    });
    look_now(shared);
}

fn make(shared: &Shared, fingerprint: &str) -> anyhow::Result<Vec<Applied>> {
    let found = found(shared)?;
    let wanted = found.iter().filter(|finding| finding.fingerprint == fingerprint);
    let changes = writes(wanted);
    with_target(&shared.meter, |target| Ok(apply(target, &shared.meter, &changes, LIMIT)?))
}

/// Writes the values that were there before.
fn put_back(shared: &Shared, made: Vec<Applied>) -> anyhow::Result<Vec<Applied>> {
    let before = |one: &Applied| SettingChange {
        path: one.path.clone(),
        value: chosen(one.before.as_deref().unwrap_or_default()).to_owned(),
    };
    let changes: Vec<SettingChange> = made.iter().map(before).collect();
    with_target(&shared.meter, |target| Ok(apply(target, &shared.meter, &changes, LIMIT)?))
}

/// The value in a file that lists every choice, `always [madvise] never`; the whole text of any other.
fn chosen(text: &str) -> &str {
    let text = text.trim();
    let bracketed = text.split_once('[').and_then(|(_, rest)| Some(rest.split_once(']')?.0));
    bracketed.unwrap_or(text)
}

/// What became of the changes that were not made; `None` if all were.
fn refusals(applied: &[Applied]) -> Option<String> {
    let refused: Vec<String> =
        applied.iter().filter_map(|one| Some(format!("{}: {}", one.path, one.problem.as_ref()?))).collect();
    (!refused.is_empty()).then(|| refused.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_a_list_of_choices_is_the_chosen_one() {
        assert_eq!(chosen("always [madvise] never\n"), "madvise");
        assert_eq!(chosen("950000\n"), "950000");
        assert_eq!(chosen(""), "");
    }
}
