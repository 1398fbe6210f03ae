//! The copy of the meter with capabilities.

use super::file;
use rustix::fs::{XattrFlags, fsetxattr, getxattr};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, fchown};
use std::path::Path;

const ATTRIBUTE: &str = "security.capability";
/// Bytes of `struct vfs_cap_data` of revision 2.
const ATTRIBUTE_BYTES: usize = 20;
/// Revision 2, with the flag that makes permitted capabilities effective.
const REVISION: u32 = 0x0200_0001;
/// Root changes it, the group executes it, and nobody else reads it.
pub const MODE: u32 = 0o750;

/// Copies the running program.
pub fn install(path: &Path, gid: u32, capabilities: u64) -> io::Result<()> {
    let mut own = File::open("/proc/self/exe")?;
    file::replace(path, |new| {
        io::copy(&mut own, new)?;
        fchown(&*new, Some(0), Some(gid))?;
        new.set_permissions(Permissions::from_mode(MODE))?;
        Ok(fsetxattr(&*new, ATTRIBUTE, &attribute(capabilities), XattrFlags::empty())?)
    })
}

/// Whether a file is a copy of the running program with these capabilities.
///
/// # Errors
/// Errors of reading it.
pub fn is_installed(path: &Path, capabilities: u64) -> io::Result<bool> {
    let mut found = [0; ATTRIBUTE_BYTES + 4];
    let same = fs::read(path)? == fs::read("/proc/self/exe")?;
    let bytes = getxattr(path, ATTRIBUTE, &mut found).unwrap_or(0);
    Ok(same && found[..bytes] == attribute(capabilities))
}

fn attribute(capabilities: u64) -> [u8; ATTRIBUTE_BYTES] {
    let mut bytes = [0; ATTRIBUTE_BYTES];
    bytes[..4].copy_from_slice(&REVISION.to_le_bytes());
    // The upper capabilities follow the inheritable ones of the lower.
    for (at, word) in [(4, capabilities as u32), (12, (capabilities >> 32) as u32)] {
        bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_above_32_are_in_the_second_word() {
        let bytes = attribute(1 << 14 | 1 << 38);
        assert_eq!(bytes[4..8], (1_u32 << 14).to_le_bytes());
        assert_eq!(bytes[12..16], (1_u32 << 6).to_le_bytes());
        assert!(bytes[8..12].iter().chain(&bytes[16..]).all(|byte| *byte == 0));
    }
}
