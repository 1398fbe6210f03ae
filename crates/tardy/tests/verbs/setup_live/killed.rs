//! A setup that SIGKILL ends at any change.

use super::machine::Snapshot;
use super::users::User;
use fixtures::programs::beside;
use prerequisites::Machine;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use syscall_faults::{Fault, run};

const NO_SPACE: Fault = Fault::Refuse(rustix::io::Errno::NOSPC.raw_os_error());

/// A setup of the user, by the meter alone.
fn setup(folder: &Path) -> Command {
    let mut command = Command::new(beside("tardy-meter"));
    command.arg("setup").stdin(File::open(folder.join("request")).unwrap());
    command.stdout(Stdio::null()).env("TARDY_STATE_DIR", folder.join("state"));
    command
}

fn request(folder: &Path, user: &User) {
    let home = fs::metadata(user.home()).unwrap();
    let request = serde_json::json!({ "user": user.name, "uid": home.uid(), "apply": true });
    fs::write(folder.join("request"), request.to_string()).unwrap();
}

fn undo(folder: &Path) -> Output {
    let mut command = Command::new(beside("tardy-meter"));
    command.args(["restore", "--setup"]).env("TARDY_STATE_DIR", folder.join("state")).output().unwrap()
}

#[test]
fn a_setup_killed_at_any_change_is_undone_to_the_byte() {
    let Some(user) = User::created() else { return };
    let _machine = Machine::alone();
    let folder = tempfile::tempdir().unwrap();
    request(folder.path(), &user);
    let before = Snapshot::taken();
    let whole = run(&mut setup(folder.path()), None).unwrap();
    assert_eq!(whole.code, Some(0));
    let undone = undo(folder.path());
    assert!(undone.status.success(), "{}", String::from_utf8_lossy(&undone.stderr));
    before.assert_same("a whole setup");
    let mut killed = 0;
    for call in 0..whole.calls {
        let ended = run(&mut setup(folder.path()), Some((call, Fault::Kill))).unwrap();
        let undone = undo(folder.path());
        assert!(undone.status.success(), "call {call}: {}", String::from_utf8_lossy(&undone.stderr));
        before.assert_same(&format!("killed at call {call}: {:?}", ended.met));
        killed += usize::from(ended.met.is_some());
    }
    assert!(killed > 20, "only {killed} of {} calls were met", whole.calls);
}

#[test]
fn a_setup_that_fails_reverts_itself() {
    let Some(user) = User::created() else { return };
    let _machine = Machine::alone();
    let folder = tempfile::tempdir().unwrap();
    request(folder.path(), &user);
    let before = Snapshot::taken();
    let whole = run(&mut setup(folder.path()), None).unwrap();
    undo(folder.path());
    for call in 0..whole.calls {
        let ended = run(&mut setup(folder.path()), Some((call, NO_SPACE))).unwrap();
        if ended.code == Some(0) {
            undo(folder.path());
        }
        before.assert_same(&format!("no space at call {call}: {:?}", ended.met));
    }
}
