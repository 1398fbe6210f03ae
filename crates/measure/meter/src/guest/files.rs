//! Files that the host sends and fetches.

use super::error::GuestError;
use super::input::Input;
use protocol::guest::{FILE_BYTES_MAX, parts_of_path};
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Writes a file with the bytes after `data_before`, creating its parent directories. A file of the kernel takes the bytes in one
/// write, and keeps its mode, which it does not let anyone change.
///
/// # Errors
/// [`GuestError`]; an incomplete new file is removed.
pub fn put(path: &str, executable: bool, bytes: u64, data_before: u64, input: &Input) -> Result<(), GuestError> {
    let path = inside(path)?;
    if bytes > FILE_BYTES_MAX {
        return Err(GuestError::TooLarge { path, bytes });
    }
    let existed = path.exists();
    let write = || {
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
        let file = File::create(&path)?;
        let mode = if executable { 0o755 } else { 0o644 };
        if file.metadata()?.permissions().mode() & 0o777 != mode {
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        input.store(data_before, bytes, file)
    };
    write().map_err(|error: io::Error| {
        if !existed {
            let _ = fs::remove_file(&path);
        }
        GuestError::Write { path: path.clone(), error }
    })
}

/// Contents of a file, also of one with a reported size of zero, such as those of the kernel.
///
/// # Errors
/// [`GuestError`] if it cannot be read or is too long.
pub fn get(path: &str, bytes_max: u64) -> Result<Vec<u8>, GuestError> {
    let path = inside(path)?;
    let fail = |error: io::Error| GuestError::Read { path: path.clone(), error };
    let mut bytes = Vec::new();
    let file = File::open(&path).map_err(fail)?;
    let limit = bytes_max.min(FILE_BYTES_MAX);
    file.take(limit + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > limit {
        return Err(GuestError::LongerThan { path, limit });
    }
    Ok(bytes)
}

fn inside(path: &str) -> Result<PathBuf, GuestError> {
    parts_of_path(path).map(|_| PathBuf::from(path)).ok_or_else(|| GuestError::Path(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn a_file_arrives_with_its_mode_and_goes_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/program");
        let input = Input::new(Cursor::new(b"skipped, then the program".to_vec()));
        put(path.to_str().unwrap(), true, 16, 9, &input).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(get(path.to_str().unwrap(), 100).unwrap(), b"then the program");
        assert!(matches!(get(path.to_str().unwrap(), 15), Err(GuestError::LongerThan { limit: 15, .. })));
        assert!(!get("/proc/self/status", 1 << 20).unwrap().is_empty());
    }

    #[test]
    fn a_failed_write_leaves_nothing_and_paths_stay_inside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("short");
        let input = Input::new(Cursor::new(b"sho".to_vec()));
        assert!(matches!(put(path.to_str().unwrap(), false, 5, 0, &input), Err(GuestError::Write { .. })));
        assert!(!path.exists());
        assert!(put("/a/../b", false, 0, 0, &input).is_err());
        assert!(matches!(put("/absent", false, FILE_BYTES_MAX + 1, 0, &input), Err(GuestError::TooLarge { .. })));
        assert!(get("relative", 1).is_err());
    }
}
