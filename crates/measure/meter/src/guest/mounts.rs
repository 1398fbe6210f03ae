//! Mounts the file systems for a measurement in a machine that has none yet.

use super::error::GuestError;
use rustix::fs::{Mode, mkdir};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};

struct Mount {
    at: &'static str,
    kind: &'static str,
    /// Whether the measurement is possible without it.
    optional: bool,
}

const MOUNTS: &[Mount] = &[
    Mount { at: "/dev", kind: "devtmpfs", optional: false },
    Mount { at: "/dev/pts", kind: "devpts", optional: true },
    Mount { at: "/proc", kind: "proc", optional: false },
    Mount { at: "/sys", kind: "sysfs", optional: false },
    Mount { at: "/sys/kernel/tracing", kind: "tracefs", optional: true },
    Mount { at: "/sys/kernel/debug", kind: "debugfs", optional: true },
    Mount { at: "/run", kind: "tmpfs", optional: false },
    Mount { at: "/tmp", kind: "tmpfs", optional: false },
    Mount { at: "/dev/shm", kind: "tmpfs", optional: false },
];

/// IFF_UP and IFF_LOOPBACK: programs expect 127.0.0.1.
const LOOP_BACK_FLAGS: &str = "/sys/class/net/lo/flags";

/// Mounts everything, and sets the loop-back interface up.
///
/// # Errors
/// [`GuestError`] with the file system that could not be mounted.
pub fn mount_all() -> Result<(), GuestError> {
    for place in MOUNTS {
        match mkdir(place.at, Mode::from(0o755)) {
            Ok(()) | Err(Errno::EXIST | Errno::PERM | Errno::NOENT) => {}
            Err(error) => return Err(GuestError::MountPoint { at: place.at, error }),
        }
        match mount(place.kind, place.at, place.kind, MountFlags::empty(), None) {
            // A kernel with CONFIG_DEVTMPFS_MOUNT has already mounted one.
            Ok(()) | Err(Errno::BUSY) => {}
            Err(_) if place.optional => {}
            Err(error) => return Err(GuestError::Mount { kind: place.kind, at: place.at, error }),
        }
    }
    // A kernel without networks has no such file.
    let _ = std::fs::write(LOOP_BACK_FLAGS, "0x9");
    Ok(())
}
