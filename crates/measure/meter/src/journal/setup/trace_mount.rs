//! Group and mode of the trace file system: options of its superblock, which all of its mounts share.

use super::access;
use super::fault::Fault;
use archive::setup::Access;
use rustix::fs::CWD;
use rustix::mount::{FsPickFlags, fsconfig_reconfigure, fsconfig_set_string, fspick};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::lchown;
use std::path::{Path, PathBuf};

/// The flags of the mount stay: mount(2) would need all of them again.
pub fn reconfigure(path: &Path, access: Access) -> io::Result<()> {
    let picked = fspick(CWD, path, FsPickFlags::FSPICK_CLOEXEC)?;
    fsconfig_set_string(&picked, "gid", access.gid.to_string())?;
    fsconfig_set_string(&picked, "mode", format!("{:o}", access.mode))?;
    Ok(fsconfig_reconfigure(&picked)?)
}

pub fn undo(path: &Path, before: Access, after: Access, others: &BTreeMap<PathBuf, u32>) -> Result<bool, Fault> {
    access::undo_with(path, before, after, || {
        reconfigure(path, before)?;
        for (path, gid) in others {
            // A file that is gone has no group.
            let _ = lchown(path, None, Some(*gid));
        }
        Ok(())
    })
}
