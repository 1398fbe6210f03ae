//! A line of a file whose other lines belong to others, such as /etc/group.

use super::fault::Fault;
use super::{access, file};
use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, fchown};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

/// The tools that change users and groups hold a lock on it (lckpwdf(3)).
const LOCK: &str = "/etc/.pwd.lock";
const LOCK_TRIED_MAX: u32 = 150;
const LOCK_TRIED_AFTER: Duration = Duration::from_millis(100);

/// Replaces a line; without `before`, adds one at the end, and without `after`, removes it. Returns whether there was one to
/// replace.
pub fn replace(path: &Path, before: Option<&str>, after: Option<&str>) -> io::Result<bool> {
    let _lock = lock(Path::new(LOCK))?;
    let text = fs::read_to_string(path)?;
    let Some(changed) = changed(&text, before, after) else { return Ok(false) };
    let access = access::read(path)?;
    file::replace(path, |new| {
        new.write_all(changed.as_bytes())?;
        fchown(&*new, Some(access.uid), Some(access.gid))?;
        new.set_permissions(fs::Permissions::from_mode(access.mode))
    })?;
    Ok(true)
}

/// A file that does not end with a line feed stays such a file.
fn changed(text: &str, before: Option<&str>, after: Option<&str>) -> Option<String> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    let Some(before) = before else {
        let end = lines.len() - usize::from(lines.last() == Some(&""));
        lines.splice(end..end, after);
        return Some(lines.join("\n"));
    };
    let at = lines.iter().position(|line| *line == before)?;
    lines.splice(at..=at, after);
    Some(lines.join("\n"))
}

pub fn undo(path: &Path, before: Option<&str>, after: &str) -> Result<bool, Fault> {
    let left = file::partial(path);
    let _ = fs::remove_file(left);
    if replace(path, Some(after), before)? {
        return Ok(true);
    }
    // The first field names the group.
    let field = |line: &str| line.split(':').next().map(str::to_owned);
    let text = fs::read_to_string(path)?;
    let now = text.lines().find(|line| field(line) == field(after));
    if now == before { Ok(false) } else { Err(Fault::Changed) }
}

/// The lock, unless the machine has none; it ends with the file.
fn lock(path: &Path) -> io::Result<Option<File>> {
    let Ok(file) = OpenOptions::new().write(true).open(path) else { return Ok(None) };
    for _ in 0..LOCK_TRIED_MAX {
        match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::AGAIN | Errno::ACCESS) => sleep(LOCK_TRIED_AFTER),
            locked => return locked.map(|()| Some(file)).map_err(io::Error::from),
        }
    }
    Err(io::Error::new(io::ErrorKind::WouldBlock, "another program changes users or groups"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_added_and_removed_leaves_every_byte() {
        for text in ["", "a:x:1:\n", "a:x:1:", "a:x:1:\n\n", "\n", "a:x:1:\nb:x:2:c\n"] {
            let added = changed(text, None, Some("tardy:x:9:me")).unwrap();
            assert!(added.contains("tardy:x:9:me"), "{added:?}");
            assert_eq!(changed(&added, Some("tardy:x:9:me"), None).as_deref(), Some(text));
        }
    }

    #[test]
    fn lines_that_others_add_meanwhile_stay() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("group");
        fs::write(&path, "root:x:0:\ntardy:x:9:\n").unwrap();
        replace(&path, Some("tardy:x:9:"), Some("tardy:x:9:me")).unwrap();
        fs::write(&path, fs::read_to_string(&path).unwrap() + "late:x:8:\n").unwrap();
        assert!(undo(&path, Some("tardy:x:9:"), "tardy:x:9:me").unwrap());
        assert!(!undo(&path, Some("tardy:x:9:"), "tardy:x:9:me").unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "root:x:0:\ntardy:x:9:\nlate:x:8:\n");
    }

    #[test]
    fn a_line_that_others_changed_stays() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("group");
        fs::write(&path, "tardy:x:9:me,another\n").unwrap();
        assert!(matches!(undo(&path, None, "tardy:x:9:me"), Err(Fault::Changed)));
        assert_eq!(fs::read_to_string(&path).unwrap(), "tardy:x:9:me,another\n");
    }
}
