//! Working off the journals that a killed meter left.

use super::{Entry, Header, UndoError};
use std::cmp::Reverse;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// What restoring one journal came to.
#[derive(Debug)]
pub enum Restored {
    /// The process that wrote it still runs.
    InUse { pid: i32 },
    /// Changes undone, and why others could not be.
    Undone { pid: i32, done: Vec<String>, failures: Vec<UndoError>, rebooted: bool },
    /// Not a journal of a known version.
    Unreadable { path: PathBuf, why: NoJournal },
}

/// Why a file is no journal.
#[derive(Debug, thiserror::Error)]
pub enum NoJournal {
    #[error(transparent)]
    Unread(#[from] io::Error),
    #[error("it is empty")]
    Empty,
    #[error("its first line is no journal header: {0}")]
    Header(#[from] serde_json::Error),
    #[error("journal version {0} is not known here; use the tardy that wrote it")]
    Version(u32),
}

/// Undoes every journal in a directory whose process is gone, that of the latest process first.
pub fn restore_all(directory: &Path) -> Vec<Restored> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    // What cannot be read has no place in the order, and comes first.
    paths.sort_by_key(|path| (Reverse(read(path).map_or(u64::MAX, |(header, _)| header.started_ticks)), path.clone()));
    paths.iter().map(|path| restore(path)).collect()
}

fn restore(path: &Path) -> Restored {
    let (header, entries) = match read(path) {
        Ok(journal) => journal,
        Err(why) => return Restored::Unreadable { path: path.to_owned(), why },
    };
    let same_boot = header.boot_id == super::entry::boot_id();
    if same_boot && header.alive() {
        return Restored::InUse { pid: header.pid };
    }
    let mut done = Vec::new();
    let mut failures = Vec::new();
    for entry in entries.iter().rev().filter(|entry| same_boot || !entry.dies_with_the_kernel()) {
        match entry.undo() {
            Ok(true) => done.push(entry.describe()),
            Ok(false) => {}
            Err(why) => failures.push(why),
        }
    }
    if failures.is_empty() {
        let _ = fs::remove_file(path);
    }
    Restored::Undone { pid: header.pid, done, failures, rebooted: !same_boot }
}

/// The header and all whole lines; a last line cut by a crash is of a change that was never made.
fn read(path: &Path) -> Result<(Header, Vec<Entry>), NoJournal> {
    let file = fs::File::open(path)?;
    let mut lines = BufReader::new(file).lines();
    let first = lines.next().ok_or(NoJournal::Empty)??;
    let header: Header = serde_json::from_str(&first)?;
    if header.journal_version != 1 {
        return Err(NoJournal::Version(header.journal_version));
    }
    Ok((header, lines.map_while(Result::ok).filter_map(|line| serde_json::from_str(&line).ok()).collect()))
}

#[cfg(test)]
mod tests {
    use super::super::Journal;
    use super::*;

    fn dead_header() -> Header {
        Header { started_ticks: 1, ..Header::of_this_process() }
    }

    #[test]
    fn a_killed_run_is_undone_last_change_first() {
        let root = tempfile::tempdir().unwrap();
        let setting = root.path().join("setting");
        fs::write(&setting, "950001\n").unwrap();
        let journals = root.path().join("journal");
        let mut journal = Journal::begin(&journals, &dead_header()).unwrap();
        journal.change_setting(&setting, "-1").unwrap();
        journal.change_setting(&setting, "5").unwrap();
        let work = root.path().join("work");
        journal.note(Entry::Directory { path: work.clone() }).unwrap();
        fs::create_dir(&work).unwrap();
        drop(journal);
        let answer = restore_all(&journals);
        assert!(
            matches!(&answer[..], [Restored::Undone { done, failures, rebooted: false, .. }] if done.len() == 3 && failures.is_empty()),
            "{answer:?}"
        );
        assert_eq!(fs::read_to_string(&setting).unwrap().trim(), "950001");
        assert!(!work.exists());
        assert!(restore_all(&journals).is_empty());
    }

    #[test]
    fn a_running_meter_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let setting = root.path().join("setting");
        fs::write(&setting, "1").unwrap();
        let mut journal = Journal::begin(root.path(), &Header::of_this_process()).unwrap();
        journal.change_setting(&setting, "2").unwrap();
        let restored = restore_all(root.path());
        assert!(
            matches!(&restored[..], [Restored::InUse { pid }] if *pid == std::process::id() as i32),
            "{restored:?}"
        );
        assert_eq!(fs::read_to_string(&setting).unwrap().trim_end(), "2");
        assert!(journal.undo().is_empty());
        assert_eq!(fs::read_to_string(&setting).unwrap().trim_end(), "1");
        assert!(restore_all(root.path()).is_empty());
    }

    #[test]
    fn the_latest_of_several_is_undone_first() {
        let root = tempfile::tempdir().unwrap();
        let setting = root.path().join("setting");
        fs::write(&setting, "always [madvise] never\n").unwrap();
        for (started_ticks, value) in [(9, "never"), (10, "always")] {
            let header = Header { started_ticks, pid: 100 - started_ticks as i32, ..Header::of_this_process() };
            Journal::begin(root.path(), &header).unwrap().change_setting(&setting, value).unwrap();
        }
        let answer = restore_all(root.path());
        assert!(
            answer.iter().all(|one| matches!(one, Restored::Undone { failures, .. } if failures.is_empty())),
            "{answer:?}"
        );
        // The choice alone is written, as the kernel wants it.
        assert_eq!(fs::read_to_string(&setting).unwrap().trim_end(), "madvise");
    }

    #[test]
    fn a_value_somebody_else_wrote_meanwhile_is_not_overwritten() {
        let root = tempfile::tempdir().unwrap();
        let setting = root.path().join("setting");
        fs::write(&setting, "1").unwrap();
        let mut journal = Journal::begin(root.path(), &dead_header()).unwrap();
        journal.change_setting(&setting, "2").unwrap();
        fs::write(&setting, "7").unwrap();
        drop(journal);
        let answer = restore_all(root.path());
        assert!(matches!(&answer[..], [Restored::Undone { failures, .. }] if failures.len() == 1), "{answer:?}");
        assert_eq!(fs::read_to_string(&setting).unwrap(), "7");
    }

    #[test]
    fn after_a_reboot_kernel_settings_are_not_touched() {
        let root = tempfile::tempdir().unwrap();
        let setting = root.path().join("setting");
        fs::write(&setting, "1").unwrap();
        let header = Header { boot_id: "another".into(), ..dead_header() };
        let mut journal = Journal::begin(root.path(), &header).unwrap();
        journal.change_setting(&setting, "2").unwrap();
        drop(journal);
        let answer = restore_all(root.path());
        assert!(matches!(&answer[..], [Restored::Undone { rebooted: true, .. }]), "{answer:?}");
        assert_eq!(fs::read_to_string(&setting).unwrap().trim_end(), "2");
    }

    #[test]
    fn garbage_is_named_and_a_cut_last_line_ignored() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("1.jsonl"), "what").unwrap();
        let header = serde_json::to_string(&dead_header()).unwrap();
        fs::write(root.path().join("2.jsonl"), format!("{header}\n{{\"setting\":{{\"pa")).unwrap();
        let answer = restore_all(root.path());
        assert!(matches!(&answer[..], [Restored::Unreadable { .. }, Restored::Undone { .. }]), "{answer:?}");
    }
}
