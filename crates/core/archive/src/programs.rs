//! Executables of the machine under test, by which its functions get names: `programs/<build id>`.
//!
//! The host fetches them from a board whose stacks were sampled. They are as untrusted as everything from a target.

use crate::directory::read_inside;
use std::path::{Path, PathBuf};

/// The folder with the files.
pub const PROGRAMS: &str = "programs";
/// Larger files are neither fetched nor read.
pub const PROGRAM_BYTES_MAX: u64 = 64 << 20;
/// Most bytes of all files.
pub const PROGRAMS_BYTES_MAX: u64 = 256 << 20;
/// Bytes of a build id.
const ID_BYTES_MAX: usize = 64;

/// Whether a text is a build id as archives write it: hexadecimal.
pub fn is_build_id(text: &str) -> bool {
    let digits = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    digits && !text.is_empty() && text.len() <= 2 * ID_BYTES_MAX
}

/// Path of the file with a build id inside an archive.
pub fn program_path(build_id: &str) -> PathBuf {
    Path::new(PROGRAMS).join(build_id)
}

/// The file of at most this size that an archive has for a build id. Its own build id may be another one.
pub fn read_program(directory: &Path, build_id: &str, bytes_max: u64) -> Option<Vec<u8>> {
    let path = is_build_id(build_id).then(|| program_path(build_id))?;
    read_inside(directory, path, bytes_max.min(PROGRAM_BYTES_MAX)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_is_read_by_a_build_id_and_by_nothing_else() {
        let archive = tempfile::tempdir().unwrap();
        fs::create_dir(archive.path().join(PROGRAMS)).unwrap();
        fs::write(archive.path().join("programs/00ab"), b"elf").unwrap();
        fs::write(archive.path().join("secret"), b"no").unwrap();
        assert_eq!(read_program(archive.path(), "00ab", 3).as_deref(), Some(&b"elf"[..]));
        assert_eq!(read_program(archive.path(), "00ab", 2), None, "it is too large");
        for id in ["", "00AB", "../secret", "00ac", &"0".repeat(129)] {
            assert_eq!(read_program(archive.path(), id, 9), None, "{id}");
        }
    }
}
