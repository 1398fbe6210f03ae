//! The copy of the meter with capabilities.

use super::{access, file};
use archive::setup::{Access, Capability};
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

/// Copies the running program.
pub fn install(path: &Path, access: Access, capabilities: &[Capability]) -> io::Result<()> {
    let mut own = File::open("/proc/self/exe")?;
    file::replace(path, |new| {
        io::copy(&mut own, new)?;
        fchown(&*new, Some(access.uid), Some(access.gid))?;
        new.set_permissions(Permissions::from_mode(access.mode))?;
        Ok(fsetxattr(&*new, ATTRIBUTE, &attribute(capabilities), XattrFlags::empty())?)
    })
}

/// Whether a file is a copy of the running program with these owners and capabilities.
///
/// # Errors
/// Errors of reading it.
pub fn is_installed(path: &Path, access: Access, capabilities: &[Capability]) -> io::Result<bool> {
    let mut found = [0; ATTRIBUTE_BYTES + 4];
    let same = fs::read(path)? == fs::read("/proc/self/exe")?;
    let bytes = getxattr(path, ATTRIBUTE, &mut found).unwrap_or(0);
    Ok(same && found[..bytes] == attribute(capabilities) && access::read(path)? == access)
}

fn attribute(capabilities: &[Capability]) -> [u8; ATTRIBUTE_BYTES] {
    let set = capabilities.iter().fold(0_u64, |set, capability| set | 1 << *capability as u32);
    let mut bytes = [0; ATTRIBUTE_BYTES];
    bytes[..4].copy_from_slice(&REVISION.to_le_bytes());
    // The upper capabilities follow the inheritable ones of the lower.
    for (at, word) in [(4, set as u32), (12, (set >> 32) as u32)] {
        bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_above_32_are_in_the_second_word() {
        let bytes = attribute(&[Capability::IpcLock, Capability::Perfmon]);
        assert_eq!(bytes[4..8], (1_u32 << 14).to_le_bytes());
        assert_eq!(bytes[12..16], (1_u32 << 6).to_le_bytes());
        assert!(bytes[8..12].iter().chain(&bytes[16..]).all(|byte| *byte == 0));
    }
}
