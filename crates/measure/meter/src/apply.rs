//! Changes settings of this machine permanently, journalled, so that `restore` reverts each of them.
//!
//! Input: one line of JSON, a list of [`SettingChange`]; output: one line, a list of [`Applied`]. Changes that the
//! kernel rejects are reported, and the others are still made.

use crate::journal::{Header, Journal, applied_directory, journal_directory, read_setting};
use archive::facts::Applied;
use archive::settings::{SettingChange, same_setting};
use std::io::{BufRead, Read, Write};
use std::path::{Component, Path};

const LINE_BYTES_MAX: u64 = 4 << 20;
/// Directories of kernel settings.
const ROOTS: &[&str] = &["/proc/sys", "/proc/irq", "/sys"];

/// Reads the line, changes the settings, prints the result. Exit code: 0 done, 2 invalid input, 3 nothing could be
/// changed.
pub fn run() -> i32 {
    let mut line = String::new();
    let read = std::io::stdin().lock().take(LINE_BYTES_MAX).read_line(&mut line);
    let changes: Vec<SettingChange> = match read.and_then(|_| Ok(parse(&line)?)) {
        Ok(changes) => changes,
        Err(error) => {
            eprintln!("tardy-meter: failed to understand the settings: {error}");
            return 2;
        }
    };
    let mut journal = match Journal::begin(&applied_directory(), &Header::of_this_process()) {
        Ok(journal) => journal.beside_runs_in(&journal_directory()),
        Err(error) => {
            eprintln!("tardy-meter: {error}");
            return 3;
        }
    };
    let applied: Vec<Applied> = changes.into_iter().map(|change| apply(change, &mut journal)).collect();
    if applied.iter().all(|one| one.problem.is_some()) {
        // Nothing was changed, so the journal is not needed.
        for failure in journal.undo() {
            eprintln!("tardy-meter: {failure}");
        }
    }
    let mut answer = serde_json::to_string(&applied).expect("the applied settings have only string keys");
    answer.push('\n');
    match std::io::stdout().write_all(answer.as_bytes()) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("tardy-meter: failed to say what was applied: {error}; `tardy target restore` undoes it");
            3
        }
    }
}

fn parse(line: &str) -> serde_json::Result<Vec<SettingChange>> {
    serde_json::from_str(line.trim_end())
}

fn apply(change: SettingChange, journal: &mut Journal) -> Applied {
    let SettingChange { path, value } = change;
    let place = Path::new(&path);
    let inside = ROOTS.iter().any(|root| place.starts_with(root));
    if !inside || place.components().any(|part| part == Component::ParentDir) {
        return Applied { problem: Some("it is not a kernel setting".into()), path, value, before: None };
    }
    let before = match journal.change_setting(place, &value) {
        Ok(before) => before,
        Err(error) => return Applied { problem: Some(error.to_string()), path, value, before: None },
    };
    // Some files accept every value and keep their own.
    let unmoved = read_setting(place).is_ok_and(|now| now.trim_end() == before && !same_setting(&before, &value));
    let problem = unmoved.then(|| format!("the kernel took {value:?} and left {path} as it was"));
    Applied { path, value, before: Some(before), problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_of_the_kernels_settings_is_touched() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        std::fs::write(&file, "1").unwrap();
        let mut journal = Journal::begin(&root.path().join("applied"), &Header::of_this_process()).unwrap();
        let through = format!("/sys/../{}", file.display());
        for path in [file.display().to_string(), through, "relative".into(), "/proc/self/oom_score_adj".into()] {
            let applied = apply(SettingChange { path: path.clone(), value: "2".into() }, &mut journal);
            assert!(applied.problem.is_some() && applied.before.is_none(), "{path}");
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "1");
        assert!(journal.undo().is_empty());
    }

    #[test]
    fn noise_is_refused() {
        for noise in ["", "{}", "[1]", "[{\"path\":\"x\"}]", "\u{fffd}"] {
            assert!(parse(noise).is_err(), "{noise:?}");
        }
        assert_eq!(parse("[]\n").unwrap(), Vec::new());
    }
}
