//! Which other process uses a serial device: two readers would each get half of the board's output.
//!
//! Terminal programs agree on a file `LCK..NAME` with the number of the process that uses the device (the Filesystem
//! Hierarchy Standard, chapter /var/lock). Others are found by the open files of all processes.

use super::error::PortError;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const DIRECTORIES: [&str; 3] = ["/run/lock", "/var/lock", "/var/spool/lock"];

/// Lock file of a device, for as long as it is used.
#[derive(Debug)]
pub struct DeviceLock(PathBuf);

impl DeviceLock {
    /// Creates the lock file if there is a directory for it.
    ///
    /// # Errors
    /// The process that uses the device.
    pub fn take(device: &Path) -> Result<Option<Self>, PortError> {
        for directory in DIRECTORIES {
            match Self::take_in(Path::new(directory), device) {
                Ok(lock) => return lock.map(Some),
                // The directory does not exist, or is not accessible.
                Err(_) => continue,
            }
        }
        Ok(None)
    }

    fn take_in(directory: &Path, device: &Path) -> io::Result<Result<Self, PortError>> {
        let name = device.strip_prefix("/dev").unwrap_or(device).to_string_lossy().trim_matches('/').replace('/', "_");
        let path = directory.join(format!("LCK..{name}"));
        for _ in 0..2 {
            match OpenOptions::new().write(true).create_new(true).mode(0o644).open(&path) {
                Ok(mut file) => {
                    writeln!(file, "{:10}", std::process::id())?;
                    return Ok(Ok(Self(path)));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
            let holder = fs::read_to_string(&path).unwrap_or_default();
            let holder = holder.trim();
            // A lock of a dead process is stale; one without a number may be incomplete.
            match holder.parse::<u32>() {
                Ok(pid) if !Path::new("/proc").join(pid.to_string()).exists() => fs::remove_file(&path)?,
                _ => {
                    let who = if holder.is_empty() { "another program".into() } else { format!("process {holder}") };
                    return Ok(Err(PortError::Locked { device: device.to_owned(), who, file: path }));
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

impl Drop for DeviceLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Another process that has the device open, as far as permissions show it. The process at the other end of a
/// pseudoterminal (socat, a relay to a lab) may have this end open as well, so that it does not hang up between two
/// readers.
pub fn user_of(device: &Path) -> Option<String> {
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let own = std::process::id().to_string();
    let user = processes.filter(|process| process.file_name() != own.as_str()).find(|process| {
        let files = fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten();
        let has = files.into_iter().any(|file| fs::read_link(file.path()).is_ok_and(|found| found == device));
        has && !has_other_end(&process.path(), device)
    })?;
    let name = fs::read_to_string(user.path().join("comm")).unwrap_or_default();
    Some(format!("process {} ({})", user.file_name().to_string_lossy(), name.trim()))
}

/// Whether the process of this directory below /proc has the master of this pseudoterminal.
fn has_other_end(process: &Path, device: &Path) -> bool {
    let number = device.strip_prefix("/dev/pts").ok().and_then(|number| number.to_str()?.parse::<u32>().ok());
    let Some(number) = number else { return false };
    let masters = fs::read_dir(process.join("fdinfo")).into_iter().flatten().flatten();
    masters.into_iter().any(|file| {
        let properties = fs::read_to_string(file.path()).unwrap_or_default();
        let index = properties.lines().find_map(|line| line.strip_prefix("tty-index:"));
        index.is_some_and(|index| index.trim().parse() == Ok(number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_had_once_and_a_dead_process_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let take = || DeviceLock::take_in(folder.path(), Path::new("/dev/pts/7")).unwrap();
        let first = take().unwrap();
        assert!(folder.path().join("LCK..pts_7").is_file());
        let refused = take().unwrap_err().to_string();
        assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
        drop(first);
        // Linux process numbers do not exceed 2^22.
        fs::write(folder.path().join("LCK..pts_7"), "   4194305\n").unwrap();
        drop(take().unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn who_has_a_file_open_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("device");
        fs::write(&path, "").unwrap();
        assert_eq!(user_of(&path), None);
        let file = fs::File::open(&path).unwrap();
        let mut child = std::process::Command::new("sleep").arg("1000").stdin(file).spawn().unwrap();
        let found = user_of(&path);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found.as_ref().is_some_and(|who| who.starts_with("process ")), "{found:?}");
    }

    #[test]
    fn who_has_the_other_end_of_a_pseudoterminal_is_not_in_the_way() {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let path = std::path::PathBuf::from(ptsname(&master, Vec::new()).unwrap().into_string().unwrap());
        let end = || fs::File::options().read(true).write(true).open(&path).unwrap();
        let user_beside = |other: std::process::Stdio| {
            let mut child = std::process::Command::new("sleep").arg("1000").stdin(end()).stdout(other).spawn().unwrap();
            let found = user_of(&path);
            child.kill().unwrap();
            child.wait().unwrap();
            found
        };
        assert_eq!(user_beside(master.try_clone().unwrap().into()), None);
        assert!(user_beside(std::process::Stdio::null()).is_some());
    }
}
