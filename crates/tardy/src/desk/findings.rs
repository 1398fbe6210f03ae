//! Settings of this machine that hurt real-time work: what `tardy check` finds, each to be changed and changed back.

use super::changes::{Changes, Return, refusals, said};
use super::state::{Shared, locked};
use crate::measuring::machine::reporting;
use anyhow::Context;
use archive::facts::Applied;
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
            let stays = |finding: &&CheckedSetting| (finding.is_changed || finding.is_changing) && !is_there(finding);
            let changed: Vec<CheckedSetting> = before.iter().filter(stays).cloned().collect();
            let found =
                found.iter().map(|finding| match before.iter().find(|one| one.fingerprint == finding.fingerprint) {
                    Some(CheckedSetting { refused, is_changed, is_changing, .. }) => CheckedSetting {
                        refused: refused.clone(),
                        is_changed: *is_changed,
                        is_changing: *is_changing,
                        ..shown(finding)
                    },
                    None => shown(finding),
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
    // What was changed is changed, however the meter's end went.
    if let Err(error) = target.close() {
        complain!("tardy desk: {error}");
    }
    answer
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
        is_changing: false,
        refused: None,
    }
}

/// Makes or undoes the change of a finding, and looks at the settings again. One that is being changed stays as it is.
pub fn change(shared: &Shared, fingerprint: &str, change: Change) {
    let (mut is_free, mut refused_before) = (false, None);
    shared.update(|state| {
        if let Some(finding) = state.checks.findings.iter_mut().find(|finding| finding.fingerprint == fingerprint) {
            is_free = !finding.is_changing;
            refused_before.clone_from(&finding.refused);
            finding.is_changing = true;
        }
    });
    if !is_free {
        return;
    }
    let mut changes = locked(&shared.changes);
    let refused = match (shared.is_over(), change) {
        (true, _) => Ok(None),
        // A page that was loaded before, or a second click.
        (false, Change::Apply) if changes.has(fingerprint) => Ok(refused_before),
        (false, Change::Apply) => make(shared, fingerprint).map(|applied| changes.add(fingerprint, applied, &now)),
        (false, Change::Undo) => put_back(shared, &mut changes, fingerprint),
    }
    .unwrap_or_else(|error| Some(format!("{error:#}")));
    let is_changed = changes.has(fingerprint);
    drop(changes);
    shared.update(|state| {
        if let Some(finding) = state.checks.findings.iter_mut().find(|finding| finding.fingerprint == fingerprint) {
            (finding.refused, finding.is_changed, finding.is_changing) = (refused, is_changed, false);
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

/// Writes the values that were there before. Returns what was not written.
fn put_back(shared: &Shared, changes: &mut Changes, fingerprint: &str) -> anyhow::Result<Option<String>> {
    let Return { writes, mut refused } = changes.to_undo(fingerprint, &now);
    if !writes.is_empty() {
        let applied = with_target(&shared.meter, |target| Ok(apply(target, &shared.meter, &writes, LIMIT)?))?;
        refused.extend(refusals(&applied));
    }
    changes.undone(fingerprint, &refused);
    Ok(said(&refused))
}

/// The text of a setting of this machine.
fn now(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}
