//! A setup that SIGKILL ends at any change.

use super::machine::Snapshot;
use super::users::User;
use fixtures::programs::beside;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Output, Stdio};
use syscall_faults::{Fault, run};
use tempfile::TempDir;

const NO_SPACE: Fault = Fault::Refuse(rustix::io::Errno::NOSPC.raw_os_error());

/// A trace instance of another tool, which a setup gives to the user with its directory.
struct ForeignInstance(&'static str);

impl ForeignInstance {
    fn created() -> Self {
        let instance = Self("/sys/kernel/tracing/instances/foreign-of-tests");
        // A killed test leaves it.
        let _ = fs::remove_dir(instance.0);
        fs::create_dir(instance.0).unwrap();
        instance
    }
}

impl Drop for ForeignInstance {
    fn drop(&mut self) {
        let _ = fs::remove_dir(self.0);
    }
}

/// A user who is to be set up by the meter alone, and the machine before.
struct Bench {
    folder: TempDir,
    before: Snapshot,
    _instance: ForeignInstance,
    user: User,
}

impl Bench {
    fn new() -> Option<Self> {
        let user = User::created()?;
        let folder = tempfile::tempdir().unwrap();
        let home = fs::metadata(user.home()).unwrap();
        let request = serde_json::json!({ "user": user.name, "uid": home.uid(), "apply": true });
        fs::write(folder.path().join("request"), request.to_string()).unwrap();
        let (instance, before) = (ForeignInstance::created(), Snapshot::taken());
        Some(Self { folder, before, _instance: instance, user })
    }

    fn meter(&self, words: &[&str]) -> Command {
        let mut command = Command::new(beside("tardy-meter"));
        command.args(words).env("TARDY_STATE_DIR", self.user.state());
        command
    }

    fn setup(&self) -> Command {
        let mut command = self.meter(&["setup"]);
        command.stdin(File::open(self.folder.path().join("request")).unwrap()).stdout(Stdio::null());
        command
    }

    fn undo(&self) -> Output {
        self.meter(&["restore", "--setup"]).output().unwrap()
    }
}

#[test]
fn a_setup_killed_at_any_change_is_undone_to_the_byte() {
    let Some(bench) = Bench::new() else { return };
    let whole = run(&mut bench.setup(), None).unwrap();
    assert_eq!(whole.code, Some(0));
    let undone = bench.undo();
    assert!(undone.status.success(), "{}", String::from_utf8_lossy(&undone.stderr));
    bench.before.assert_same("a whole setup");
    let mut killed = 0;
    for call in 0..whole.calls {
        let ended = run(&mut bench.setup(), Some((call, Fault::Kill))).unwrap();
        let undone = bench.undo();
        assert!(undone.status.success(), "call {call}: {}", String::from_utf8_lossy(&undone.stderr));
        bench.before.assert_same(&format!("killed at call {call}: {:?}", ended.met));
        killed += usize::from(ended.met.is_some());
    }
    assert!(killed > 20, "only {killed} of {} calls were met", whole.calls);
}

#[test]
fn a_setup_that_fails_reverts_itself() {
    let Some(bench) = Bench::new() else { return };
    let whole = run(&mut bench.setup(), None).unwrap();
    bench.undo();
    for call in 0..whole.calls {
        let ended = run(&mut bench.setup(), Some((call, NO_SPACE))).unwrap();
        if ended.code == Some(0) {
            bench.undo();
        }
        bench.before.assert_same(&format!("no space at call {call}: {:?}", ended.met));
    }
}
