//! The user who is to measure, and another one.

use fixtures::fake_meter::Ended;
use fixtures::programs::{beside, tardy};
use prerequisites::Prerequisite::{Prepared, Program, Root, Tracefs};
use prerequisites::met;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

const NAME: &str = "nobody2";

/// A user that exists as long as the test.
pub struct User {
    pub name: &'static str,
    folder: TempDir,
}

impl User {
    /// `None` if this machine cannot run the test.
    pub fn created() -> Option<Self> {
        let lacks = |path: &str, name: &str| {
            let text = fs::read_to_string(path).unwrap_or_default();
            !text.lines().any(|line| line.split(':').next() == Some(name))
        };
        let is_free = lacks("/etc/passwd", NAME) && lacks("/etc/group", "tardy");
        let needed = [
            Root,
            Tracefs,
            Program("useradd"),
            Program("setpriv"),
            Program("bash"),
            Prepared("a machine without the user nobody2 and the group tardy", is_free),
            Prepared("a tardy-meter beside tardy (cargo build -p tardy-meter)", beside("tardy-meter").is_file()),
            Prepared(
                "a tardy that other users can execute",
                Stranger.may(&[&tardy().display().to_string(), "--version"]),
            ),
        ];
        met(&needed).then(|| {
            let folder = tempfile::tempdir().unwrap();
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
            let user = Self { name: NAME, folder };
            let mut made = Command::new("useradd");
            made.args(["--create-home", "--user-group", "--home-dir"]).arg(user.home()).arg(NAME);
            assert!(made.status().unwrap().success());
            user
        })
    }

    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
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
        let _ = Command::new("userdel").arg(NAME).output();
    }
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
