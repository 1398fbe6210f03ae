//! Programs that make a CPU late on purpose.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One planted cause at a time: each is to come first.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A program of `tests/programs`, compiled.
pub fn compiled(place: &Path, name: &str) -> PathBuf {
    let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs")).join(format!("{name}.c"));
    let program = place.join(name);
    assert!(Command::new("cc").args(["-O1", "-o"]).arg(&program).arg(source).status().unwrap().success(), "{name}");
    program
}

/// A running program, ended when this is dropped.
pub struct Planted(Child);

impl Planted {
    pub fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap())
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A control group with little memory.
pub struct MemoryGroup {
    place: PathBuf,
}

impl MemoryGroup {
    /// `None` where the kernel has no such groups.
    pub fn of(bytes: u64) -> Option<Self> {
        let name = format!("tardy-test-{}", std::process::id());
        for (root, limit) in [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")] {
            let place = Path::new(root).join(&name);
            if fs::create_dir(&place).is_err() {
                continue;
            }
            let group = Self { place };
            if fs::write(group.place.join(limit), bytes.to_string()).is_ok() {
                return Some(group);
            }
        }
        None
    }

    /// Starts a program in the group.
    pub fn start(&self, command: &mut Command) -> Planted {
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo $$ > \"$1\" && shift && exec \"$@\"", "sh"]).arg(self.place.join("cgroup.procs"));
        shell.arg(command.get_program()).args(command.get_args());
        Planted::start(&mut shell)
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.place);
    }
}
