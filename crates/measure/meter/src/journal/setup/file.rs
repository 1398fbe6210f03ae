//! Files and directories that did not exist before.

use super::fault::Fault;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

const DIRECTORY_MODE: u32 = 0o755;
const FILE_MODE: u32 = 0o644;

/// The file in its folder that becomes `path` once it is complete.
pub fn partial(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".tardy-partial");
    path.with_file_name(name)
}

/// Fills a new file and gives it its name, which another file may have had.
pub fn replace(path: &Path, fill: impl FnOnce(&mut fs::File) -> io::Result<()>) -> io::Result<()> {
    let new = partial(path);
    let _ = fs::remove_file(&new);
    let written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new).and_then(|mut file| {
        fill(&mut file)?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&new, path)).inspect_err(|_| {
        let _ = fs::remove_file(&new);
    })
}

pub fn make_directory(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
        made => made?,
    }
    fs::set_permissions(path, Permissions::from_mode(DIRECTORY_MODE))
}

/// A directory with files of others stays.
pub fn remove_directory(path: &Path) -> bool {
    fs::remove_dir(path).is_ok()
}

pub fn create(path: &Path, text: &str) -> io::Result<()> {
    replace(path, |file| {
        file.write_all(text.as_bytes())?;
        file.set_permissions(Permissions::from_mode(FILE_MODE))
    })
}

pub fn undo(path: &Path, text: &str) -> Result<bool, Fault> {
    match fs::read(path) {
        Ok(now) if now != text.as_bytes() => Err(Fault::Changed),
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
        _ => Ok(remove(path)?),
    }
}

/// Removes the file, and what a killed process left of it.
pub fn remove(path: &Path) -> io::Result<bool> {
    let removed = |path: &Path| match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    };
    let left = removed(&partial(path))?;
    Ok(removed(path)? || left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_another_program_edited_stays() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("limits");
        create(&path, "ours\n").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, FILE_MODE);
        fs::write(&path, "ours\nand theirs\n").unwrap();
        assert!(matches!(undo(&path, "ours\n"), Err(Fault::Changed)));
        fs::write(&path, "ours\n").unwrap();
        assert!(undo(&path, "ours\n").unwrap());
        assert!(!undo(&path, "ours\n").unwrap());
    }

    #[test]
    fn the_rest_of_a_killed_write_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("limits");
        fs::write(partial(&path), "ou").unwrap();
        assert!(undo(&path, "ours\n").unwrap());
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_with_foreign_files_stays() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("folder");
        make_directory(&path).unwrap();
        fs::write(path.join("foreign"), "").unwrap();
        assert!(!remove_directory(&path));
        fs::remove_file(path.join("foreign")).unwrap();
        assert!(remove_directory(&path));
    }
}
