//! The user who is to measure, and another one.

use fixtures::fake_meter::Ended;
use fixtures::programs::{beside, tardy};
use prerequisites::Prerequisite::{Prepared, Program, Root, Tracefs};
use prerequisites::{Machine, met};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

const NAME: &str = "nobody2";

/// The user of a test, which has the machine for itself, with the state directory of its setups.
///
/// Both are at one place, so that the next test undoes what a killed one left behind.
pub struct User {
    pub name: &'static str,
    folder: PathBuf,
    _machine: Machine,
}

impl User {
    /// `None` if this machine cannot run the test.
    pub fn created() -> Option<Self> {
        let user =
            Self { name: NAME, folder: std::env::temp_dir().join("tardy-setup-live"), _machine: Machine::alone() };
        if user.folder.exists() {
            user.remove();
        }
        let needed = [
            Root,
            Tracefs,
            Program("useradd"),
            Program("setpriv"),
            Program("bash"),
            Prepared("a machine without the user nobody2", lacks("/etc/passwd", NAME)),
            Prepared("a machine without the group tardy", lacks("/etc/group", "tardy")),
            Prepared("a tardy-meter beside tardy (cargo build -p tardy-meter)", beside("tardy-meter").is_file()),
            Prepared(
                "a tardy that other users can execute",
                Stranger.may(&[&tardy().display().to_string(), "--version"]),
            ),
        ];
        met(&needed).then(|| {
            fs::create_dir(&user.folder).unwrap();
            fs::set_permissions(&user.folder, fs::Permissions::from_mode(0o755)).unwrap();
            let mut made = Command::new("useradd");
            made.args(["--create-home", "--user-group", "--home-dir"]).arg(user.home()).arg(NAME);
            assert!(made.status().unwrap().success());
            user
        })
    }

    /// The state directory of the setups of this test.
    pub fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    fn remove(&self) {
        let mut undo = Command::new(beside("tardy-meter"));
        if undo.args(["restore", "--setup"]).env("TARDY_STATE_DIR", self.state()).output().is_err() {
            return; // Its state directory alone knows what to undo.
        }
        let _ = Command::new("userdel").arg(NAME).output();
        let _ = fs::remove_dir_all(&self.folder);
    }

    pub fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// `tardy` in a new session of the user, in their home.
    pub fn tardy(&self, words: &[&str]) -> Ended {
        let mut command = as_user(NAME);
        command.arg(tardy()).args(words).current_dir(self.home());
        Ended::of(command.env_remove("TARDY_METER").env_remove("TARDY_STATE_DIR").output().unwrap())
    }
}

impl Drop for User {
    fn drop(&mut self) {
        if self.folder.exists() {
            self.remove();
        }
    }
}

fn lacks(path: &str, name: &str) -> bool {
    let text = fs::read_to_string(path).unwrap();
    !text.lines().any(|line| line.split(':').next() == Some(name))
}

/// A user without any right.
pub struct Stranger;

impl Stranger {
    pub fn may(&self, command: &[&str]) -> bool {
        as_user("nobody").args(command).current_dir("/").output().is_ok_and(|output| output.status.success())
    }
}

/// With the groups of a new session. `setpriv` executes its program with the rights of root, so that program is `env`.
fn as_user(name: &str) -> Command {
    let mut command = Command::new("setpriv");
    let group = Command::new("id").args(["-g", name]).output().unwrap().stdout;
    let group = String::from_utf8_lossy(&group).trim().to_owned();
    command.args(["--reuid", name, "--regid", &group, "--init-groups", "--reset-env", "--", "env"]);
    command
}
