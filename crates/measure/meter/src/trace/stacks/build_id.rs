//! The build id of an executable, by which a host recognises the same file: a note of its ELF headers.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};

/// Larger notes are not read.
const NOTE_BYTES_MAX: u64 = 64 << 10;
/// More than any file has.
const HEADERS_MAX: usize = 64;
const NOTE_SEGMENT: u64 = 4;
const BUILD_ID: u32 = 3;
/// Linkers write 8 to 32 bytes.
const ID_BYTES_MAX: usize = 64;

/// The build id of a file in hexadecimal, and the size of the file; `None` if it has none, cannot be read, or is not the one with
/// this inode.
pub fn of_file(path: &str, inode: u64) -> Option<(String, u64)> {
    // A program chooses its paths, and opening a device may do something already.
    let place = File::options().read(true).custom_flags(libc::O_PATH).open(path).ok()?;
    let about = place.metadata().ok().filter(|about| about.is_file() && about.ino() == inode)?;
    let file = File::open(format!("/proc/self/fd/{}", place.as_raw_fd())).ok()?;
    let mut head = Vec::new();
    Read::by_ref(&mut &file).take(NOTE_BYTES_MAX).read_to_end(&mut head).ok()?;
    let mut ids = note_segments(&head)?.into_iter().filter_map(|(offset, bytes)| {
        let mut notes = vec![0; bytes.min(NOTE_BYTES_MAX) as usize];
        let read = file.read_at(&mut notes, offset).ok()?;
        build_id(notes.get(..read)?)
    });
    ids.next().map(|id| (id, about.len()))
}

/// Offset and bytes of the segments with notes, by the first bytes of a file.
fn note_segments(head: &[u8]) -> Option<Vec<(u64, u64)>> {
    let magic = head.strip_prefix(b"\x7fELF")?;
    let is_64 = *magic.first()? == 2;
    // Only little-endian processors run the meter.
    let is_little = *magic.get(1)? == 1;
    let word = |at: usize, bytes: usize| {
        let field = head.get(at..at.checked_add(bytes)?)?;
        Some(field.iter().rev().fold(0_u64, |word, byte| word << 8 | u64::from(*byte)))
    };
    if !is_little {
        return None;
    }
    // Elf64_Ehdr and Elf32_Ehdr: e_phoff, e_phentsize, e_phnum.
    let (start, size, count) = match is_64 {
        true => (word(32, 8)?, word(54, 2)?, word(56, 2)?),
        false => (word(28, 4)?, word(42, 2)?, word(44, 2)?),
    };
    let mut segments = Vec::new();
    for number in 0..(count as usize).min(HEADERS_MAX) {
        let at = usize::try_from(start).ok()?.checked_add(number.checked_mul(size as usize)?)?;
        // Elf64_Phdr and Elf32_Phdr: p_type, p_offset, p_filesz.
        let (kind, offset, bytes) = match is_64 {
            true => (word(at, 4)?, word(at.checked_add(8)?, 8)?, word(at.checked_add(32)?, 8)?),
            false => (word(at, 4)?, word(at.checked_add(4)?, 4)?, word(at.checked_add(16)?, 4)?),
        };
        if kind == NOTE_SEGMENT {
            segments.push((offset, bytes));
        }
    }
    Some(segments)
}

/// The build id among notes: each is the lengths of name and description, a kind, and both, padded to four bytes.
fn build_id(mut notes: &[u8]) -> Option<String> {
    while let Some((header, rest)) = notes.split_first_chunk::<12>() {
        let field = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let padded = |bytes: u32| (bytes as usize).checked_next_multiple_of(4);
        let (name, rest) = rest.split_at_checked(padded(field(0))?)?;
        let (description, rest) = rest.split_at_checked(padded(field(4))?)?;
        if field(8) == BUILD_ID && name == b"GNU\0" {
            let id = description.get(..field(4) as usize).filter(|id| (1..=ID_BYTES_MAX).contains(&id.len()))?;
            return Some(id.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        notes = rest;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_build_id_stands_behind_other_notes() {
        let note = |name: &[u8; 4], kind: u32, text: &[u8]| {
            let lengths = [4_u32.to_le_bytes(), (text.len() as u32).to_le_bytes(), kind.to_le_bytes()].concat();
            let padding = vec![0; text.len().next_multiple_of(4) - text.len()];
            [lengths, name.to_vec(), text.to_vec(), padding].concat()
        };
        let notes =
            [note(b"GNU\0", 1, &[0; 5]), note(b"Go\0\0", BUILD_ID, b"go"), note(b"GNU\0", BUILD_ID, &[0xab, 0x12])]
                .concat();
        assert_eq!(build_id(&notes).as_deref(), Some("ab12"));
        assert_eq!(build_id(&notes[..40]), None);
    }

    #[test]
    fn programs_of_this_machine_have_one_and_other_files_none() {
        let shell = std::fs::canonicalize("/bin/sh").unwrap();
        let inode = |path: &str| std::fs::metadata(path).unwrap().ino();
        let of = |path: &str| of_file(path, inode(path));
        let shell = shell.to_str().unwrap();
        assert!(of(shell).is_some_and(|(id, bytes)| id.len() >= 16 && bytes > 1000));
        assert_eq!(of_file(shell, inode(shell) + 1), None, "another file took its place");
        assert_eq!((of("/etc/passwd"), of("/dev/zero"), of("/")), (None, None, None));
    }

    proptest! {
        #[test]
        fn any_bytes_have_notes_or_none(bytes: Vec<u8>, class in 0..4_u8) {
            let elf = [&b"\x7fELF"[..], &[class, 1], &bytes].concat();
            let _ = (note_segments(&bytes), note_segments(&elf), build_id(&bytes));
        }
    }
}
