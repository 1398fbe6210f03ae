//! The file that the method `storage` reads and writes in.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

const PREFIX: &str = "tardy-storage-";

/// Its path in a directory.
pub fn path_in(directory: &Path) -> PathBuf {
    directory.join(format!("{PREFIX}{}", std::process::id()))
}

/// Whether a journal may name it: a file of another name is not ours, whatever the journal says.
pub fn is_own(path: &Path) -> bool {
    let number = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(PREFIX));
    let numbered = number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
    numbered && path.is_absolute() && path.components().all(|part| part != Component::ParentDir)
}

/// Removes it; returns whether it was there.
///
/// # Errors
/// Those of the kernel.
pub fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_that_a_run_made_is_removed() {
        assert!(is_own(&path_in(Path::new("/var/tmp"))));
        for other in [
            "/etc/passwd",
            "/tmp/tardy-storage-",
            "/tmp/../etc/tardy-storage-1",
            "tardy-storage-1",
            "/tmp/tardy-storage-1x",
        ] {
            assert!(!is_own(Path::new(other)), "{other}");
        }
        let directory = tempfile::tempdir().unwrap();
        let path = path_in(directory.path());
        fs::write(&path, "").unwrap();
        assert!(remove(&path).unwrap() && !remove(&path).unwrap());
    }
}
