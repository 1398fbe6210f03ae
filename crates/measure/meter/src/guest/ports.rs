//! Finds the ports to the host by name.

use super::error::GuestError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

const PORTS: &str = "/sys/class/virtio-ports";
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// The kernel creates its ports shortly after the driver was loaded.
const LOOKS: u32 = 1000;

/// Opens the port with this name.
///
/// # Errors
/// [`GuestError`] with what the machine lacks.
pub fn open(name: &str) -> Result<File, GuestError> {
    for _ in 0..LOOKS {
        if let Some(device) = find(Path::new(PORTS), name) {
            let opened = OpenOptions::new().read(true).write(true).open(&device);
            let port = opened.map_err(|error| GuestError::OpenPort { device, error })?;
            await_host(&port);
            return Ok(port);
        }
        thread::sleep(LOOK_EVERY);
    }
    Err(GuestError::NoPort(name.to_owned()))
}

/// Waits until the other end is open: before that the port reads as closed.
fn await_host(port: &File) {
    for _ in 0..LOOKS {
        let mut polled = [PollFd::new(port, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        if poll(&mut polled, Some(&now)).is_err() || !polled[0].revents().contains(PollFlags::HUP) {
            return;
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// The device of the port with this `name`.
fn find(ports: &Path, name: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(ports).ok()?;
    let port = entries.filter_map(|entry| entry.ok()).find(|entry| {
        let found = fs::read_to_string(entry.path().join("name"));
        found.is_ok_and(|found| found.trim_end() == name)
    })?;
    Some(Path::new("/dev").join(port.file_name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_found_by_its_name_alone() {
        let ports = tempfile::tempdir().unwrap();
        for (port, name) in [("vport0p1", "other\n"), ("vport0p2", "tardy.data\n")] {
            fs::create_dir(ports.path().join(port)).unwrap();
            fs::write(ports.path().join(port).join("name"), name).unwrap();
        }
        fs::create_dir(ports.path().join("vport0p3")).unwrap();
        assert_eq!(find(ports.path(), "tardy.data"), Some(PathBuf::from("/dev/vport0p2")));
        assert_eq!(find(ports.path(), "tardy"), None);
        assert_eq!(find(&ports.path().join("absent"), "tardy.data"), None);
    }
}
