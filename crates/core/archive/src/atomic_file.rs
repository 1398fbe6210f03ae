//! Atomic replacement of a file: it is either the old one or the new one, complete.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::write_error::WriteError;

const ALL: u32 = 0o666;
const OWNER: u32 = 0o600;

/// Replaces a file in one step: a reader, or a crash, sees the old one or the new one.
///
/// A symbolic link is kept: the file it points to is replaced. Anything that is not a regular file, such as a pipe or
/// `/dev/null`, is written to, because a rename would put a file in the place of the device.
///
/// # Errors
/// [`WriteError::Io`] with the file's path.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let fail = |source| WriteError::Io { path: path.to_owned(), source };
    match fs::metadata(path) {
        Ok(found) if found.is_file() => replace(&fs::canonicalize(path).map_err(fail)?, bytes, ALL),
        Ok(found) if !found.is_dir() => {
            OpenOptions::new().write(true).open(path).and_then(|mut it| it.write_all(bytes))
        }
        _ => replace(path, bytes, ALL),
    }
    .map_err(fail)
}

/// Replaces a file in one step, with a file that only its owner can read.
///
/// # Errors
/// [`WriteError::Io`] with the file's path.
pub fn write_for_the_owner(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    replace(path, bytes, OWNER).map_err(|source| WriteError::Io { path: path.to_owned(), source })
}

/// `mode`: of the new file, which the umask reduces.
fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    let partial = path.with_file_name(name);
    let write = || {
        // One that a crash left may have another mode.
        let _ = fs::remove_file(&partial);
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(&partial)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&partial, path)
    };
    write().inspect_err(|_| {
        let _ = fs::remove_file(&partial);
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn only_the_owner_reads_a_private_file() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("state");
        fs::write(folder.path().join("state.partial"), "left by a crash").unwrap();
        write_for_the_owner(&place, b"new").unwrap();
        assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_new_file_stands_alone_and_an_old_one_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("result");
        for text in ["old", "new"] {
            write_atomically(&place, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&place).unwrap(), text);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(write_atomically(&folder.path().join("none/result"), b"x").is_err());
        assert!(write_atomically(folder.path(), b"x").is_err());
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (link, file) = (folder.path().join("link"), folder.path().join("file"));
        fs::write(&file, "old").unwrap();
        symlink("file", &link).unwrap();
        write_atomically(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    }

    #[test]
    fn a_pipe_is_written_to_and_stays_a_pipe() {
        let (mut reader, writer) = io::pipe().unwrap();
        let place = PathBuf::from(format!("/proc/self/fd/{}", writer.as_raw_fd()));
        write_atomically(&place, b"through").unwrap();
        assert!(fs::metadata(&place).unwrap().file_type().is_fifo());
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through");
    }
}
