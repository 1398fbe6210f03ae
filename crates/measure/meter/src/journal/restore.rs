//! Undoes the journals that killed meters left.

use super::announcement::other_directories;
use super::directory::{JournalDirectory, Untrusted};
use super::entry::{settled, started_ticks};
use super::undo::{PATIENCE, undo_all};
use super::{BEGUN, Entry, Header, SettingRoots, UndoError};
use crate::compact;
use std::cmp::Reverse;
use std::io;
use std::path::{Path, PathBuf};

/// The treatment of a journal whose changes could not all be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftovers {
    /// Keep it, so that the next attempt finds them.
    Keep,
    /// Remove it: the user accepts the machine as it is.
    Forget,
}

/// Result of restoring one journal.
#[derive(Debug)]
pub enum Restored {
    /// The process that wrote it is still running.
    InUse { pid: i32 },
    /// Changes that were undone, and why others could not be.
    Undone { pid: i32, done: Vec<String>, failures: Vec<UndoError>, rebooted: bool },
    /// Not a journal of a known version.
    Unreadable { path: PathBuf, why: NoJournal },
}

/// Why a file is not a journal.
#[derive(Debug, thiserror::Error)]
pub enum NoJournal {
    #[error("it cannot be trusted: {0}")]
    Untrusted(#[from] Untrusted),
    #[error("it is empty")]
    Empty,
    #[error("its first line is not a journal header: {0}")]
    Header(#[from] serde_json::Error),
    #[error("journal version {0} is not known here; use the tardy that wrote it")]
    Version(u32),
}

/// The contents of a journal.
struct Read {
    header: Header,
    entries: Vec<Entry>,
    /// Numbers of the lines that could not be parsed.
    unknown: Vec<usize>,
}

/// Undoes every journal in a directory whose process has ended, that of the latest process first.
///
/// Settings that a run in the directory `runs` changed as well are left to that run.
pub fn restore_all(directory: &Path, runs: &Path, leftovers: Leftovers) -> Vec<Restored> {
    restore_settings(&SettingRoots::of_kernel(), directory, runs, leftovers)
}

fn restore_settings(roots: &SettingRoots, directory: &Path, runs: &Path, leftovers: Leftovers) -> Vec<Restored> {
    let opened = match JournalDirectory::open(directory) {
        Ok(opened) => opened,
        Err(Untrusted::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(why) => return vec![Restored::Unreadable { path: directory.to_owned(), why: why.into() }],
    };
    remove_begun(&opened);
    let mut journals: Vec<(String, Result<Read, NoJournal>)> =
        opened.journals().into_iter().map(|name| (name.clone(), read(&opened, &name))).collect();
    // Unreadable journals have no place in the order, and come first.
    let started = |read: &Result<Read, NoJournal>| read.as_ref().map_or(u64::MAX, |read| read.header.started_ticks);
    compact::sort_by_key(&mut journals, |(name, read)| (Reverse(started(read)), name.clone()));
    journals.into_iter().map(|(name, read)| restore(roots, &opened, &name, read, runs, leftovers)).collect()
}

/// Removes journals whose process died before their first line, and so before its first change.
fn remove_begun(directory: &JournalDirectory) {
    for name in directory.ending(BEGUN) {
        let numbers = name.strip_suffix(BEGUN).and_then(|name| name.strip_suffix(".jsonl")?.split_once('-'));
        let process = numbers.and_then(|(pid, started)| Some((pid.parse().ok()?, started.parse::<u64>().ok()?)));
        if process.is_none_or(|(pid, started)| started_ticks(pid) != Some(started)) {
            let _ = directory.remove(&name);
        }
    }
}

/// The process id of the running meter that changed a setting and will restore it. The journal named `own` is ignored. Also of one
/// with another directory of journals.
pub fn holder(runs: &Path, own: &str, setting: &Path) -> Option<i32> {
    let elsewhere = other_directories(runs).into_iter();
    holder_in(runs, own, setting).or_else(|| elsewhere.filter_map(|other| holder_in(&other, "", setting)).next())
}

fn holder_in(runs: &Path, own: &str, setting: &Path) -> Option<i32> {
    let opened = JournalDirectory::open(runs).ok()?;
    let boot_id = super::entry::boot_id();
    let holds = |entry: &Entry| matches!(entry, Entry::Setting { path, before, after, .. } if path == setting && before != after);
    let others = opened.journals().into_iter().filter(|name| name != own);
    let mut others = others.filter_map(|name| read(&opened, &name).ok());
    let holder =
        others.find(|read| read.header.boot_id == boot_id && read.header.alive() && read.entries.iter().any(holds));
    holder.map(|read| read.header.pid)
}

/// Other meters running on this machine, according to the journals in a directory.
pub fn other_meters(directory: &Path) -> Vec<i32> {
    let Ok(opened) = JournalDirectory::open(directory) else { return Vec::new() };
    let boot_id = super::entry::boot_id();
    let own = std::process::id() as i32;
    let headers = opened.journals().into_iter().filter_map(|name| Some(read(&opened, &name).ok()?.header));
    let others = headers.filter(|header| header.pid != own && header.boot_id == boot_id && header.alive());
    others.map(|header| header.pid).collect()
}

fn restore(
    roots: &SettingRoots,
    directory: &JournalDirectory,
    name: &str,
    read: Result<Read, NoJournal>,
    runs: &Path,
    leftovers: Leftovers,
) -> Restored {
    let Read { header, entries, unknown } = match read {
        Ok(read) => read,
        Err(why) => return Restored::Unreadable { path: directory.path_of(name), why },
    };
    let same_boot = header.boot_id == super::entry::boot_id();
    if same_boot && header.alive() {
        return Restored::InUse { pid: header.pid };
    }
    let mut done = Vec::new();
    let mut failures: Vec<UndoError> = Vec::new();
    // All other changes were lost with the kernel that they were made to.
    let entries: Vec<Entry> = entries.into_iter().filter(|entry| same_boot || entry.outlives_the_kernel()).collect();
    if same_boot || !entries.is_empty() {
        failures.extend(unknown.into_iter().map(|number| UndoError::Line { number }));
        let held = |entry: &Entry| match entry {
            Entry::Setting { path, .. } => {
                holder(runs, name, path).map(|pid| UndoError::Held { path: path.clone(), pid })
            }
            _ => None,
        };
        let (free, held): (Vec<_>, Vec<_>) =
            entries.into_iter().map(|entry| (held(&entry), entry)).partition(|(held, _)| held.is_none());
        failures.extend(held.into_iter().filter_map(|(held, _)| held));
        let free = free.into_iter().map(|(_, entry)| entry).collect();
        for (entry, result) in undo_all(free, roots, PATIENCE, &mut |_| ()) {
            match result {
                Ok(true) => done.push(entry.describe()),
                Ok(false) => {}
                Err(why) => failures.push(why),
            }
        }
    }
    if failures.is_empty() || leftovers == Leftovers::Forget {
        let _ = directory.remove(name);
    }
    Restored::Undone { pid: header.pid, done, failures, rebooted: !same_boot }
}

/// The header and all complete lines; a last line cut by a crash belongs to a change that was never made.
fn read(directory: &JournalDirectory, name: &str) -> Result<Read, NoJournal> {
    let text = directory.read(name)?;
    let mut lines = text.split_inclusive('\n');
    let header: Header = serde_json::from_str(lines.next().ok_or(NoJournal::Empty)?)?;
    if header.journal_version != 1 {
        return Err(NoJournal::Version(header.journal_version));
    }
    let (mut entries, mut unknown) = (Vec::new(), Vec::new());
    for (line, number) in lines.filter(|line| line.ends_with('\n')).zip(2..) {
        match serde_json::from_str(line) {
            Ok(entry) => entries.push(entry),
            Err(_) => unknown.push(number),
        }
    }
    Ok(Read { header, entries: settled(entries), unknown })
}

#[cfg(test)]
mod tests {
    use super::super::Journal;
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    /// A journal of settings that are files below a directory of the test.
    fn begin(settings: &Path, journals: &Path, header: &Header) -> Result<Journal, super::super::JournalError> {
        Journal::begin_for(SettingRoots::below(settings), journals, header)
    }

    fn restored_in(settings: &Path, journals: &Path) -> Vec<Restored> {
        restore_settings(&SettingRoots::below(settings), journals, journals, Leftovers::Keep)
    }

    fn plant(journals: &Path, name: &str, text: &str) {
        fs::write(journals.join(name), text).unwrap();
        fs::set_permissions(journals.join(name), Permissions::from_mode(0o600)).unwrap();
    }

    fn dead_header() -> Header {
        Header { started_ticks: 1, ..Header::of_this_process() }
    }

    #[test]
    fn a_killed_run_is_undone_last_change_first() {
        let root = tempfile::tempdir().unwrap();
        let setting = root.path().join("setting");
        fs::write(&setting, "950001\n").unwrap();
        let journals = root.path().join("journal");
        let mut journal = begin(root.path(), &journals, &dead_header()).unwrap();
        journal.change_setting(&setting, "-1").unwrap();
        journal.change_setting(&setting, "5").unwrap();
        drop(journal);
        let answer = restored_in(root.path(), &journals);
        assert!(
            matches!(&answer[..], [Restored::Undone { done, failures, rebooted: false, .. }] if done.len() == 2 && failures.is_empty()),
            "{answer:?}"
        );
        assert_eq!(fs::read_to_string(&setting).unwrap().trim(), "950001");
        assert!(restored_in(root.path(), &journals).is_empty());
    }

    #[test]
    fn a_running_meter_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let setting = root.path().join("setting");
        fs::write(&setting, "1").unwrap();
        let mut journal = begin(root.path(), root.path(), &Header::of_this_process()).unwrap();
        journal.change_setting(&setting, "2").unwrap();
        let restored = restored_in(root.path(), root.path());
        assert!(
            matches!(&restored[..], [Restored::InUse { pid }] if *pid == std::process::id() as i32),
            "{restored:?}"
        );
        assert_eq!(fs::read_to_string(&setting).unwrap().trim_end(), "2");
        assert!(journal.undo().is_empty());
        assert_eq!(fs::read_to_string(&setting).unwrap().trim_end(), "1");
        assert!(restored_in(root.path(), root.path()).is_empty());
    }

    #[test]
    fn the_latest_of_several_is_undone_first() {
        let root = tempfile::tempdir().unwrap();
        let setting = root.path().join("setting");
        fs::write(&setting, "always [madvise] never\n").unwrap();
        for (started_ticks, value) in [(9, "never"), (10, "always")] {
            let header = Header { started_ticks, pid: 100 - started_ticks as i32, ..Header::of_this_process() };
            begin(root.path(), root.path(), &header).unwrap().change_setting(&setting, value).unwrap();
        }
        let answer = restored_in(root.path(), root.path());
        assert!(
            answer.iter().all(|one| matches!(one, Restored::Undone { failures, .. } if failures.is_empty())),
            "{answer:?}"
        );
        // Only the chosen word is written, as the kernel requires.
        assert_eq!(fs::read_to_string(&setting).unwrap().trim_end(), "madvise");
    }

    #[test]
    fn a_value_that_another_program_wrote_meanwhile_is_not_overwritten() {
        let root = tempfile::tempdir().unwrap();
        let setting = root.path().join("setting");
        fs::write(&setting, "1").unwrap();
        let mut journal = begin(root.path(), root.path(), &dead_header()).unwrap();
        journal.change_setting(&setting, "2").unwrap();
        fs::write(&setting, "7").unwrap();
        drop(journal);
        let answer = restored_in(root.path(), root.path());
        assert!(matches!(&answer[..], [Restored::Undone { failures, .. }] if failures.len() == 1), "{answer:?}");
        assert_eq!(fs::read_to_string(&setting).unwrap(), "7");
    }

    #[test]
    fn after_a_reboot_kernel_settings_are_not_touched() {
        let root = tempfile::tempdir().unwrap();
        let setting = root.path().join("setting");
        fs::write(&setting, "1").unwrap();
        let header = Header { boot_id: "another".into(), ..dead_header() };
        let mut journal = begin(root.path(), root.path(), &header).unwrap();
        journal.change_setting(&setting, "2").unwrap();
        drop(journal);
        let answer = restored_in(root.path(), root.path());
        assert!(matches!(&answer[..], [Restored::Undone { rebooted: true, .. }]), "{answer:?}");
        assert_eq!(fs::read_to_string(&setting).unwrap().trim_end(), "2");
    }

    #[test]
    fn garbage_is_named_and_a_cut_last_line_ignored() {
        let root = tempfile::tempdir().unwrap();
        plant(root.path(), "1.jsonl", "what");
        let header = serde_json::to_string(&dead_header()).unwrap();
        plant(root.path(), "2.jsonl", &format!("{header}\n{{\"setting\":{{\"pa"));
        let answer = restored_in(root.path(), root.path());
        assert!(matches!(&answer[..], [Restored::Unreadable { .. }, Restored::Undone { .. }]), "{answer:?}");
    }

    #[test]
    fn a_line_that_is_not_understood_is_named_and_the_rest_is_undone() {
        let root = tempfile::tempdir().unwrap();
        let setting = root.path().join("setting");
        fs::write(&setting, "2").unwrap();
        let victim = root.path().join("victim");
        fs::create_dir(&victim).unwrap();
        let lines = [
            serde_json::to_string(&dead_header()).unwrap(),
            format!("{{\"directory\":{{\"path\":{:?}}}}}", victim.display()),
            format!("{{\"setting\":{{\"path\":{:?},\"before\":\"1\",\"after\":\"2\"}}}}", setting.display()),
        ];
        plant(root.path(), "1.jsonl", &(lines.join("\n") + "\n"));
        let answer = restored_in(root.path(), root.path());
        let [Restored::Undone { done, failures, .. }] = &answer[..] else { panic!("{answer:?}") };
        assert_eq!(done.len(), 1);
        assert!(matches!(failures[..], [UndoError::Line { number: 2 }]), "{failures:?}");
        assert!(victim.exists(), "directories are nothing that a journal removes");
    }

    #[test]
    fn a_planted_journal_changes_nothing_outside_of_the_kernels_settings() {
        let root = tempfile::tempdir().unwrap();
        let victim = root.path().join("victim");
        fs::write(&victim, "2").unwrap();
        let mut journal = begin(root.path(), &root.path().join("journal"), &dead_header()).unwrap();
        journal.change_setting(&victim, "3").unwrap();
        drop(journal);
        let answer = restore_all(&root.path().join("journal"), root.path(), Leftovers::Keep);
        let [Restored::Undone { failures, .. }] = &answer[..] else { panic!("{answer:?}") };
        assert!(matches!(failures[..], [UndoError::NotASetting { .. }]), "{failures:?}");
        assert_eq!(fs::read_to_string(&victim).unwrap().trim(), "3");
    }

    #[test]
    fn a_meter_killed_right_after_a_write_is_undone_whatever_form_the_kernel_shows_it_in() {
        let root = tempfile::tempdir().unwrap();
        let setting = root.path().join("setting");
        fs::write(&setting, "4").unwrap();
        let mut journal = begin(root.path(), &root.path().join("journal"), &dead_header()).unwrap();
        let (path, before) = (setting.clone(), "4".to_owned());
        journal.note(Entry::Setting { path, before, after: "0x10".into(), intended: true }).unwrap();
        // The kernel accepted it, and the meter was killed before it could read the kernel's form.
        fs::write(&setting, "00000010").unwrap();
        drop(journal);
        let answer = restored_in(root.path(), &root.path().join("journal"));
        assert!(matches!(&answer[..], [Restored::Undone { failures, .. }] if failures.is_empty()), "{answer:?}");
        assert_eq!(fs::read_to_string(&setting).unwrap().trim(), "4");
    }

    /// Process and header of another running process.
    fn running() -> (std::process::Child, Header) {
        let child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id() as i32;
        let started_ticks = super::super::entry::started_ticks(pid).unwrap();
        (child, Header { pid, started_ticks, ..Header::of_this_process() })
    }

    #[test]
    fn a_setting_that_a_running_meter_changed_is_neither_changed_nor_undone_by_another() {
        let root = tempfile::tempdir().unwrap();
        let (settings, runs) = (root.path(), root.path().join("journal"));
        let applied = root.path().join("applied");
        let (setting, free) = (settings.join("setting"), settings.join("free"));
        for path in [&setting, &free] {
            fs::write(path, "1").unwrap();
        }
        let mut of_applied = begin(settings, &applied, &dead_header()).unwrap().beside_runs_in(&runs);
        of_applied.change_setting(&setting, "2").unwrap();
        of_applied.change_setting(&free, "2").unwrap();
        let (mut child, header) = running();
        let mut first = begin(settings, &runs, &header).unwrap();
        first.change_setting(&setting, "3").unwrap();
        let mut second = begin(settings, &runs, &Header::of_this_process()).unwrap();
        for value in ["3", "4"] {
            let refused = second.change_setting(&setting, value).unwrap_err();
            assert!(matches!(refused, super::super::JournalError::Held { pid, .. } if pid == header.pid), "{refused}");
            let refused = of_applied.change_setting(&setting, value).unwrap_err();
            assert!(matches!(refused, super::super::JournalError::Held { .. }), "{refused}");
        }
        second.change_setting(&free, "5").unwrap();
        assert!(second.undo().is_empty());
        let restored = |leftovers| restore_settings(&SettingRoots::below(settings), &applied, &runs, leftovers);
        let kept = restored(Leftovers::Keep);
        let [Restored::Undone { done, failures, .. }] = &kept[..] else { panic!("{kept:?}") };
        assert!(done.len() == 1 && matches!(failures[..], [UndoError::Held { .. }]), "{kept:?}");
        assert_eq!([&setting, &free].map(|path| fs::read_to_string(path).unwrap().trim().to_owned()), ["3", "1"]);
        child.kill().unwrap();
        child.wait().unwrap();
        // After its death it holds nothing; its changes are undone before the applied ones.
        assert_eq!(restored_in(settings, &runs).len(), 1);
        assert!(matches!(&restored(Leftovers::Keep)[..], [Restored::Undone { failures, .. }] if failures.is_empty()));
        assert_eq!(fs::read_to_string(&setting).unwrap().trim(), "1");
    }

    #[test]
    fn a_change_that_cannot_be_undone_is_forgotten_on_request() {
        let root = tempfile::tempdir().unwrap();
        let setting = root.path().join("setting");
        fs::write(&setting, "1").unwrap();
        let journals = root.path().join("journal");
        begin(root.path(), &journals, &dead_header()).unwrap().change_setting(&setting, "2").unwrap();
        fs::write(&setting, "7").unwrap();
        let failures =
            |leftovers| match &restore_settings(&SettingRoots::below(root.path()), &journals, &journals, leftovers)[..]
            {
                [Restored::Undone { failures, .. }] => failures.len(),
                other => panic!("{other:?}"),
            };
        assert_eq!([failures(Leftovers::Keep), failures(Leftovers::Forget)], [1, 1]);
        assert!(restored_in(root.path(), &journals).is_empty());
        assert_eq!(fs::read_to_string(&setting).unwrap(), "7", "the other program's value stays");
    }
}
