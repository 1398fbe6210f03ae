//! `restore` with a journal that another user may have written, and with changes that cannot be undone.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

const HEADER: &str = r#"{"journal_version":1,"pid":1,"started_ticks":1,"boot_id":"BOOT"}"#;

fn restore(state: &Path, options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy-meter"));
    command.arg("restore").args(options).env("TARDY_STATE_DIR", state).output().unwrap()
}

/// A journal of a dead process of this boot, with these changes.
fn plant(state: &Path, mode: u32, changes: &[String]) -> std::path::PathBuf {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let journals = state.join("journal");
    fs::create_dir_all(&journals).unwrap();
    let path = journals.join("1-1.jsonl");
    fs::write(&path, format!("{}\n{}\n", HEADER.replace("BOOT", boot.trim()), changes.join("\n"))).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    path
}

fn setting(path: &Path, before: &str) -> String {
    format!(r#"{{"setting":{{"path":{path:?},"before":{before:?},"after":"2"}}}}"#)
}

#[test]
fn a_planted_journal_overwrites_no_file_and_removes_no_directory() {
    let root = tempfile::tempdir().unwrap();
    let (file, directory) = (root.path().join("file"), root.path().join("directory"));
    fs::write(&file, "2").unwrap();
    fs::create_dir(&directory).unwrap();
    let remove = format!(r#"{{"directory":{{"path":{directory:?}}}}}"#);
    for mode in [0o666, 0o600] {
        plant(root.path(), mode, &[setting(&file, "an attacker's line"), remove.clone()]);
        let restored = restore(root.path(), &[]);
        assert_eq!(restored.status.code(), Some(3), "{restored:?}");
        assert_eq!((fs::read_to_string(&file).unwrap().as_str(), directory.exists()), ("2", true), "mode {mode:o}");
    }
}

#[test]
fn a_defect_is_one_line_and_an_exit_code_of_its_own() {
    // Printing to a full device panics in every build.
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_tardy-meter")).arg("--version").stdout(full).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), said.lines().count()), (Some(70), 1), "{said}");
    assert!(said.contains("a defect at ") && said.contains("please report"), "{said}");
}

#[test]
fn a_setting_that_cannot_be_restored_is_forgotten_on_request() {
    let root = tempfile::tempdir().unwrap();
    // A world-readable file that never has either value.
    let journal = plant(root.path(), 0o600, &[setting(Path::new("/proc/sys/kernel/ostype"), "neither")]);
    let kept = restore(root.path(), &[]);
    assert_eq!(kept.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&kept.stderr).contains("restore --forget"), "{kept:?}");
    assert!(journal.exists());
    let forgotten = restore(root.path(), &["--forget"]);
    assert_eq!(forgotten.status.code(), Some(0), "{forgotten:?}");
    assert!(String::from_utf8_lossy(&forgotten.stdout).contains("forgotten: 1 change"), "{forgotten:?}");
    assert!(!journal.exists());
    assert_eq!(fs::read_to_string("/proc/sys/kernel/ostype").unwrap().trim(), "Linux");
}
