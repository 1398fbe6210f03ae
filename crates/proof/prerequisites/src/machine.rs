//! Properties of this machine, and its exclusive use by one test at a time.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

pub fn is_root() -> bool {
    user() == Some(0)
}

/// The effective user of this process, who owns its directory in /proc.
fn user() -> Option<u32> {
    fs::metadata("/proc/self").ok().map(|own| own.uid())
}

/// The mounted tracing file system, if this user may create instances in it.
pub fn tracefs() -> Option<PathBuf> {
    let places = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"].map(PathBuf::from);
    places.into_iter().find(|place| place.join("instances").is_dir() && is_root())
}

/// Whether a program is on the search path, or at this absolute path.
pub fn has_program(name: &str) -> bool {
    let is_executable = |path: PathBuf| {
        fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Joining an absolute path returns it unchanged.
    std::env::split_paths(&path).any(|folder| is_executable(folder.join(name)))
}

/// Exclusive use of global resources of the machine: its settings, trace buffers, and journal of changes.
///
/// Holds across threads and processes, so it does not matter which test runner starts them.
#[derive(Debug)]
pub struct Machine {
    /// Unlocked when it is closed.
    _lock: File,
}

impl Machine {
    /// Waits until no other test holds it.
    ///
    /// # Panics
    ///
    /// If the lock cannot be created.
    #[must_use]
    pub fn alone() -> Self {
        Self::locked(&std::env::temp_dir())
    }

    fn locked(folder: &Path) -> Self {
        // One file per user: another user's file in a world-writable directory may not be accessible.
        let path = folder.join(format!("tardy-tests-{}.lock", user().unwrap_or_default()));
        let open = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = open.unwrap_or_else(|error| panic!("failed to open {}: {error}", path.display()));
        file.lock().unwrap_or_else(|error| panic!("failed to lock {}: {error}", path.display()));
        Self { _lock: file }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{TryRecvError, channel};

    #[test]
    fn a_machine_is_used_by_one_at_a_time() {
        let folder = std::env::temp_dir().join(format!("tardy-prerequisites-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a directory");
        let first = Machine::locked(&folder);
        let (sender, second) = channel();
        let other = folder.clone();
        let waiting = std::thread::spawn(move || sender.send(Machine::locked(&other)));
        assert_eq!(second.try_recv().map(drop), Err(TryRecvError::Empty));
        drop(first);
        assert!(second.recv().is_ok());
        waiting.join().expect("it ends").expect("it was received");
        fs::remove_dir_all(&folder).expect("it can be removed");
    }
}
