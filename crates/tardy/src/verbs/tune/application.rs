//! Makes the changes of a result on its target, and reverts them. On this machine and on a board they last until the next boot;
//! a virtual machine forgets what a boot changed, so its target file gets them.

use super::candidate::Candidate;
use super::files;
use super::question::Journal;
use super::set_limit;
use crate::exit::{Exit, UsageError};
use crate::measuring::machine::{ask, find, usage};
use crate::terminal::page::Page;
use archive::directory::{read_inside, replace_inside};
use archive::settings::SettingChange;
use machines::meter_places::MeterPlaces;
use machines::target_file::{Description, TargetFiles};
use machines::{BootWords, KnownTarget};
use runner::facts::apply;
use runner::restore::{RestoreError, restore};
use std::fs;
use std::path::{Path, PathBuf};
use words::printable::printable;
use words::shell::quoted;

/// The target file before the changes, beside the result.
const BEFORE: &str = "target-before.toml";
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Makes the changes of a result.
///
/// # Errors
/// A [`UsageError`] if there is nothing to change, or it was done before; others if the target cannot be changed.
pub fn make(directory: &Path) -> anyhow::Result<Exit> {
    let journal = Journal::load(directory)?;
    let known = find(&journal.question.target)?;
    let members = files::members(&journal);
    if known.virtual_machine().is_ok() {
        return change_file(directory, &known, &members);
    }
    let changes = changes(&members);
    if changes.is_empty() {
        return Err(UsageError(format!("{} has no setting to change at run time", directory.display())).into());
    }
    let meter = MeterPlaces::of_process().find()?;
    let applied = ask(&known, &meter, |target| {
        let limit = set_limit(target);
        Ok(apply(target, &meter, &changes, limit)?)
    })?;
    let mut page = Page::for_stdout();
    for one in &applied {
        let before = one.before.as_deref().unwrap_or("unknown");
        let text = match &one.problem {
            None => format!("{} is {} (was {before})", one.path, one.value),
            Some(why) => format!("{} stays {before}: {why}", one.path),
        };
        page.wrapped("", &printable(&text));
    }
    page.wrapped("", &format!("`tardy tune --undo {}` reverts this.", quoted(&directory.display().to_string())));
    page.print()?;
    Ok(if applied.iter().any(|one| one.problem.is_some()) { Exit::NotMeasured } else { Exit::Measured })
}

/// Reverts the changes of a result.
///
/// # Errors
/// A [`UsageError`] if the target file is not as [`make`] left it; others if the target cannot be restored.
pub fn undo(directory: &Path) -> anyhow::Result<Exit> {
    let journal = Journal::load(directory)?;
    let known = find(&journal.question.target)?;
    if known.virtual_machine().is_ok() {
        return restore_file(directory, &known, &files::members(&journal));
    }
    let meter = MeterPlaces::of_process().find()?;
    let restored = ask(&known, &meter, |target| {
        let limit = set_limit(target);
        Ok(restore(target, &meter, limit))
    })?;
    let (lines, exit) = match restored {
        Ok(lines) => (lines, Exit::Measured),
        Err(RestoreError::Incomplete { lines, .. }) => (lines, Exit::NotMeasured),
        Err(error) => return Err(error.into()),
    };
    let mut page = Page::for_stdout();
    lines.iter().for_each(|line| page.line(&printable(line)));
    if lines.is_empty() {
        page.wrapped("", "Nothing to revert.");
    }
    page.print()?;
    Ok(exit)
}

fn changes(members: &[&Candidate]) -> Vec<SettingChange> {
    members.iter().flat_map(|member| member.changes.iter().map(|changed| changed.change.clone())).collect()
}

fn words(members: &[&Candidate]) -> BootWords {
    members.iter().fold(BootWords::default(), |mut words, member| {
        words.extend(&member.boot);
        words
    })
}

/// The file of a target, and its text.
fn file_of(known: &KnownTarget) -> anyhow::Result<(PathBuf, String)> {
    let path = TargetFiles::of_process().find(known.name()).map_err(usage)?;
    let text =
        fs::read_to_string(&path).map_err(|error| anyhow::anyhow!("failed to read {}: {error}", path.display()))?;
    Ok((path, text))
}

/// The text of the file of a virtual machine with the changes of the members.
fn changed(known: &KnownTarget, members: &[&Candidate]) -> Result<String, UsageError> {
    let name = known.name();
    let lacking = || {
        let removed = words(members).remove.join(" ");
        UsageError(format!(
            "the file of target {name} lacks a word to remove from kernel_arguments ({removed}): add it, or tune again"
        ))
    };
    let machine = known.changed(&words(members), &changes(members)).ok_or_else(lacking)?;
    let machine = machine.virtual_machine().map_err(usage)?;
    machine.check().map_err(|error| UsageError(format!("failed to change target {name}: {error}")))?;
    Ok(machine.to_text())
}

fn change_file(directory: &Path, known: &KnownTarget, members: &[&Candidate]) -> anyhow::Result<Exit> {
    let shown = quoted(&directory.display().to_string());
    if members.is_empty() {
        return Err(UsageError(format!("{} has no setting to change", directory.display())).into());
    }
    if directory.join(BEFORE).exists() {
        let text =
            format!("the changes of {shown} are in the target file already; `tardy tune --undo {shown}` reverts them");
        return Err(UsageError(text).into());
    }
    let (path, before) = file_of(known)?;
    let after = changed(known, members)?;
    // First, so that a crash between the two leaves the earlier text.
    replace_inside(directory, BEFORE, before.as_bytes())?;
    replace(&path, &after)?;
    let mut page = Page::for_stdout();
    page.wrapped("", &format!("{} changes, from the next boot of {} on:", path.display(), known.name()));
    let words = words(members);
    for word in &words.remove {
        page.line(&format!("  kernel_arguments without {}", printable(word)));
    }
    for word in &words.add {
        page.line(&format!("  kernel_arguments with {}", printable(word)));
    }
    for change in changes(members) {
        page.line(&format!("  settings with {}", printable(&format!("{}={}", change.path, change.value))));
    }
    page.wrapped("", &format!("`tardy tune --undo {shown}` reverts this."));
    page.print()?;
    Ok(Exit::Measured)
}

fn restore_file(directory: &Path, known: &KnownTarget, members: &[&Candidate]) -> anyhow::Result<Exit> {
    let shown = quoted(&directory.display().to_string());
    let before = read_inside(directory, BEFORE, FILE_BYTES_MAX).map_err(|_| {
        UsageError(format!("nothing to revert: `tardy tune --apply {shown}` has not changed target {}", known.name()))
    })?;
    let before = String::from_utf8_lossy(&before).into_owned();
    let (path, now) = file_of(known)?;
    let unchanged = KnownTarget::new(known.name(), Description::parse(&before)?);
    if now != before && now != changed(&unchanged, members)? {
        let text = format!(
            "{} was edited since; copy {} over it, or keep it and delete that file",
            path.display(),
            directory.join(BEFORE).display()
        );
        return Err(UsageError(text).into());
    }
    replace(&path, &before)?;
    fs::remove_file(directory.join(BEFORE))?;
    let mut page = Page::for_stdout();
    page.wrapped("", &format!("{} is as it was before.", path.display()));
    page.print()?;
    Ok(Exit::Measured)
}

fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(anyhow::anyhow!("failed to write {}: its path has no folder", path.display()));
    };
    Ok(replace_inside(folder, name, text.as_bytes())?)
}
