//! The interpreter of a program: the loader of a dynamic executable, or the program that a script names.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Enough for the headers of an executable and the first line of a script.
const HEAD_BYTES: u64 = 64 << 10;
const PT_INTERP: u32 = 3;

/// The path that a program names; `None` for a static executable.
///
/// # Errors
/// If the program cannot be read.
pub fn of(program: &Path) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    File::open(program)?.take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(named_in(&head))
}

fn named_in(head: &[u8]) -> Option<String> {
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next()?;
        return Some(String::from_utf8_lossy(line).trim().to_owned());
    }
    if head.get(..4)? != b"\x7fELF" || *head.get(5)? != 1 {
        return None;
    }
    let wide = *head.get(4)? == 2;
    let number = |at: usize, bytes: usize| -> Option<usize> {
        let field = head.get(at..at.checked_add(bytes)?)?;
        Some(field.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    };
    let (table, size, count) = match wide {
        true => (number(32, 8)?, number(54, 2)?, number(56, 2)?),
        false => (number(28, 4)?, number(42, 2)?, number(44, 2)?),
    };
    let entries = (0..count).map(|entry| table.saturating_add(entry * size));
    let interp = entries.into_iter().find(|at| number(*at, 4) == Some(PT_INTERP as usize))?;
    let (offset, length) = match wide {
        true => (number(interp + 8, 8)?, number(interp + 32, 8)?),
        false => (number(interp + 4, 4)?, number(interp + 16, 4)?),
    };
    let path = head.get(offset..offset.checked_add(length)?)?;
    Some(String::from_utf8_lossy(path).trim_end_matches('\0').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_and_dynamic_programs_name_what_they_need() {
        assert_eq!(named_in(b"#!/bin/sh -e\nexit 0\n").as_deref(), Some("/bin/sh -e"));
        let shell = of(Path::new("/bin/sh")).unwrap();
        assert!(shell.is_some_and(|path| path.contains("ld")), "the shell of this machine is dynamic");
        assert_eq!(named_in(b"\x7fELF"), None);
        assert_eq!(named_in(b""), None);
    }

    #[test]
    fn a_static_program_needs_nothing() {
        let mut head = vec![0; 128];
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        head[32] = 64;
        head[54] = 56;
        head[56] = 1;
        head[64] = 1;
        assert_eq!(named_in(&head), None);
    }
}
