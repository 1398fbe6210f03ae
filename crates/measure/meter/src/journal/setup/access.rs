//! Owner and permissions of a file that the kernel makes.

use super::Fault;
use archive::setup::Access;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

/// # Errors
/// Errors of the kernel.
pub fn read(path: &Path) -> io::Result<Access> {
    let found = fs::symlink_metadata(path)?;
    Ok(Access { uid: found.uid(), gid: found.gid(), mode: found.mode() & 0o7777 })
}

pub fn write(path: &Path, access: Access) -> io::Result<()> {
    chown(path, Some(access.uid), Some(access.gid))?;
    fs::set_permissions(path, Permissions::from_mode(access.mode))
}

pub fn undo(path: &Path, before: Access, after: Access) -> Result<bool, Fault> {
    let undo = || match instances_of(path, after.uid) {
        // They could not be removed any more.
        instances if !instances.is_empty() => Err(Fault::InUse(instances)),
        _ => Ok(write(path, before)?),
    };
    undo_with(path, before, after, undo)
}

/// Undoes a change of a file's access if it is still as it was after the change.
pub fn undo_with(
    path: &Path,
    before: Access,
    after: Access,
    undo: impl FnOnce() -> Result<(), Fault>,
) -> Result<bool, Fault> {
    match read(path) {
        Ok(now) if now == before => Ok(false),
        Ok(now) if now == after => undo().map(|()| true),
        Ok(_) => Err(Fault::Changed),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Directories of this user in a directory.
fn instances_of(path: &Path, uid: u32) -> Vec<String> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let owned = entries.filter(|entry| uid != 0 && entry.metadata().is_ok_and(|found| found.uid() == uid));
    owned.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
