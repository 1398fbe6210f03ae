//! Temporary directories of the host for sockets, images and archives that nobody keeps.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Removes the directories of killed hosts.
fn remove_abandoned(below: &Path, prefix: &str) {
    for entry in fs::read_dir(below).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(prefix).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            // Another user's directory cannot be removed, and stays.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A private directory that is removed when this is dropped.
pub struct Scratch(pub(crate) PathBuf);

impl Scratch {
    /// Creates a directory whose name contains its purpose and the process; removes the directories of killed hosts.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn make(purpose: &str) -> io::Result<Self> {
        let prefix = format!("tardy-{purpose}-");
        remove_abandoned(&std::env::temp_dir(), &prefix);
        for number in 0..1000 {
            let path = std::env::temp_dir().join(format!("{prefix}{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_killed_hosts_are_removed_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let ours = format!("tardy-vm-{}-0", std::process::id());
        // Linux process numbers do not exceed 2^22.
        for name in ["tardy-vm-4194305-0", &ours, "tardy-vm-x", "other-4194305-0"] {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join("initramfs"), "").unwrap();
        }
        remove_abandoned(folder.path(), "tardy-vm-");
        let left = |name: &str| folder.path().join(name).exists();
        assert!(!left("tardy-vm-4194305-0") && left(&ours) && left("tardy-vm-x") && left("other-4194305-0"));
    }
}
