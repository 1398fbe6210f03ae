//! Owner and permissions of a file that the kernel makes.

use super::fault::Fault;
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
    undo_with(path, before, after, || {
        let instances = instances_of(path, after.uid);
        let (left, used): (Vec<_>, Vec<_>) = instances.into_iter().partition(|name| is_left(name));
        // An instance of another tool blocks nothing: root made it before the setup, or can remove it.
        let of_user = |name: &String| process_user(name).is_some_and(|uid| uid != 0);
        let used: Vec<String> = used.into_iter().filter(of_user).collect();
        if !used.is_empty() {
            // The user could not remove them any more.
            return Err(Fault::InUse(used));
        }
        left.iter().for_each(|name| drop(fs::remove_dir(path.join(name))));
        Ok(write(path, before)?)
    })
}

/// Undoes a change of a file's access unless another program changed it since. A process killed during the change has made a part
/// of it.
pub fn undo_with(
    path: &Path,
    before: Access,
    after: Access,
    undo: impl FnOnce() -> Result<(), Fault>,
) -> Result<bool, Fault> {
    match read(path) {
        Ok(now) if now == before => Ok(false),
        Ok(now) if is_between(now, before, after) => undo().map(|()| true),
        Ok(_) => Err(Fault::Changed),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn is_between(now: Access, before: Access, after: Access) -> bool {
    let is_one = |part: fn(Access) -> u32| part(now) == part(before) || part(now) == part(after);
    is_one(|access| access.uid) && is_one(|access| access.gid) && is_one(|access| access.mode)
}

/// Whether the run that created an instance was killed.
fn is_left(instance: &str) -> bool {
    process(instance).is_some_and(|pid| !Path::new("/proc").join(pid).exists())
}

/// The user of the run that created an instance: also one of root has the owner of the directory.
fn process_user(instance: &str) -> Option<u32> {
    let about = fs::metadata(Path::new("/proc").join(process(instance)?)).ok()?;
    Some(about.uid())
}

/// The process in the name of a run's instance.
fn process(instance: &str) -> Option<&str> {
    let pid = instance.strip_prefix("tardy-")?.split('-').next()?;
    pid.parse::<u32>().is_ok().then_some(pid)
}

/// Directories of this user in a directory.
fn instances_of(path: &Path, uid: u32) -> Vec<String> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let owned = entries.filter(|entry| uid != 0 && entry.metadata().is_ok_and(|found| found.uid() == uid));
    owned.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_of_a_killed_run_is_left_and_one_of_a_running_program_is_not() {
        assert!(is_left("tardy-4294967295-a"));
        let own = format!("tardy-{}-follow", std::process::id());
        assert!(!is_left(&own) && process_user(&own).is_some());
        assert!(!is_left("of-the-user") && process_user("of-the-user").is_none());
    }

    #[test]
    fn a_change_that_was_cut_in_the_middle_is_undone_and_one_of_another_program_stays() {
        let root = tempfile::tempdir().unwrap();
        let now = read(root.path()).unwrap();
        let [before, after] = [0o700, 0o750].map(|mode| Access { mode, ..now });
        let cut = Access { gid: after.gid + 1, ..before };
        let with_group = Access { gid: cut.gid, ..after };
        assert!(is_between(cut, before, with_group));
        fs::set_permissions(root.path(), Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(undo(root.path(), before, after), Err(Fault::Changed)));
        fs::set_permissions(root.path(), Permissions::from_mode(0o750)).unwrap();
        assert!(undo_with(root.path(), before, after, || Ok(write(root.path(), before)?)).unwrap());
        assert!(!undo(root.path(), before, after).unwrap());
    }
}
