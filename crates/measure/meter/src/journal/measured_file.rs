//! The file that the method `storage` reads and writes in, and the directory of what fio reports.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

const PREFIX: &str = "tardy-storage-";
const FIO_PREFIX: &str = "tardy-fio-";

/// Its path in a directory.
pub fn path_in(directory: &Path) -> PathBuf {
    directory.join(format!("{PREFIX}{}", std::process::id()))
}

/// Path of the directory of what fio reports.
pub fn fio_directory_in(directory: &Path) -> PathBuf {
    directory.join(format!("{FIO_PREFIX}{}", std::process::id()))
}

/// Whether a journal may name it: a file of another name is not ours, whatever the journal says.
pub fn is_own(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let number = name.and_then(|name| name.strip_prefix(PREFIX).or_else(|| name.strip_prefix(FIO_PREFIX)));
    let numbered = number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
    numbered && path.is_absolute() && path.components().all(|part| part != Component::ParentDir)
}

/// Removes it; returns whether it was there.
///
/// # Errors
/// Errors of the kernel.
pub fn remove(path: &Path) -> io::Result<bool> {
    // A link to a directory is no directory here, and is removed as a file.
    let is_directory = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    match if is_directory { fs::remove_dir_all(path) } else { fs::remove_file(path) } {
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
        let reports = fio_directory_in(directory.path());
        assert!(is_own(&reports));
        let kept = directory.path().join("kept");
        fs::create_dir(&kept).unwrap();
        std::os::unix::fs::symlink(&kept, &reports).unwrap();
        assert!(remove(&reports).unwrap() && kept.is_dir());
        fs::create_dir(&reports).unwrap();
        fs::write(reports.join("log_lat.1.log"), "").unwrap();
        assert!(remove(&reports).unwrap() && !reports.exists());
    }
}
