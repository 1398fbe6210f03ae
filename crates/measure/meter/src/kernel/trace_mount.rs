//! The tracing file system, mounted for this process alone if the machine has not mounted it.

use ftrace::tracefs::{Tracefs, TracefsError};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// The tracing file system of this machine. If it is not mounted, it is mounted in a private mount namespace of this
/// thread, which ends with it: nothing must be undone. Call it before other threads are started.
///
/// # Errors
/// [`TracefsError`] of the first attempt if mounting is not permitted either.
pub fn find_or_mount() -> Result<Tracefs, TracefsError> {
    match Tracefs::find() {
        Err(TracefsError::NotMounted { root }) => {
            if mount_privately().is_err() {
                return Err(TracefsError::NotMounted { root });
            }
            Tracefs::find()
        }
        other => other,
    }
}

fn mount_privately() -> rustix::io::Result<()> {
    // SAFETY: only the mount namespace and the working directory are unshared, not the descriptor table that owned
    // descriptors rely on.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS)? };
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
    mount("nodev", "/sys/kernel/tracing", "tracefs", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None)
}
