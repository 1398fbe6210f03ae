//! The kind of file that a program is: a script, or an executable with its architecture and its loader.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Enough for the headers of an executable and the first line of a script.
const HEAD_BYTES: u64 = 64 << 10;
const PT_INTERP: u32 = 3;

/// A program, as the start of its file describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Executable {
    /// The words after `#!`.
    Script(String),
    Elf {
        architecture: Architecture,
        /// The program that loads its libraries; `None` of a static executable.
        loader: Option<String>,
    },
    Unknown,
}

/// For which processors an executable is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Architecture {
    /// 64-bit addresses.
    pub wide: bool,
    /// `e_machine` of ELF.
    pub machine: u16,
}

impl Architecture {
    pub const X86_64: Self = Self { wide: true, machine: 62 };

    /// In words, after "is built for".
    pub fn words(self) -> String {
        let name = match self.machine {
            3 => "x86",
            40 => "Arm",
            62 => "x86-64",
            183 => "arm64",
            243 => "RISC-V",
            _ => return format!("another processor (ELF machine {})", self.machine),
        };
        let bits = if self.wide { 64 } else { 32 };
        format!("{name} with {bits}-bit addresses")
    }
}

impl Executable {
    /// Reads the start of a program.
    ///
    /// # Errors
    /// If the program cannot be read.
    pub fn read(program: &Path) -> io::Result<Self> {
        let mut head = Vec::new();
        File::open(program)?.take(HEAD_BYTES).read_to_end(&mut head)?;
        Ok(Self::of(&head))
    }

    fn of(head: &[u8]) -> Self {
        if let Some(line) = head.strip_prefix(b"#!") {
            let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
            return Self::Script(String::from_utf8_lossy(line).trim().to_owned());
        }
        elf(head).unwrap_or(Self::Unknown)
    }

    /// The path that a program names; `None` for a static executable.
    pub fn interpreter(self) -> Option<String> {
        match self {
            Self::Script(words) => Some(words),
            Self::Elf { loader, .. } => loader,
            Self::Unknown => None,
        }
    }
}

/// An executable in little endian.
fn elf(head: &[u8]) -> Option<Executable> {
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
    let architecture = Architecture { wide, machine: u16::try_from(number(18, 2)?).ok()? };
    let mut entries = (0..count).map(|entry| table.saturating_add(entry * size));
    let loader = entries.find(|at| number(*at, 4) == Some(PT_INTERP as usize)).and_then(|interp| {
        let (offset, length) = match wide {
            true => (number(interp.checked_add(8)?, 8)?, number(interp.checked_add(32)?, 8)?),
            false => (number(interp.checked_add(4)?, 4)?, number(interp.checked_add(16)?, 4)?),
        };
        let path = head.get(offset..offset.checked_add(length)?)?;
        Some(String::from_utf8_lossy(path).trim_end_matches('\0').to_owned())
    });
    Some(Executable::Elf { architecture, loader })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_and_dynamic_programs_name_what_they_need() {
        let script = Executable::of(b"#!/bin/sh -e\nexit 0\n");
        assert_eq!(script.interpreter().as_deref(), Some("/bin/sh -e"));
        let shell = Executable::read(Path::new("/bin/sh")).unwrap().interpreter();
        assert!(shell.is_some_and(|path| path.contains("ld")), "the shell of this machine is dynamic");
        assert_eq!(Executable::of(b"\x7fELF"), Executable::Unknown);
        assert_eq!(Executable::of(b""), Executable::Unknown);
    }

    #[test]
    fn a_static_program_needs_nothing() {
        let mut head = vec![0; 128];
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        head[18] = 62;
        head[32] = 64;
        head[54] = 56;
        head[56] = 1;
        head[64] = 1;
        assert_eq!(Executable::of(&head), Executable::Elf { architecture: Architecture::X86_64, loader: None });
        head[4] = 1;
        head[18] = 3;
        let Executable::Elf { architecture, .. } = Executable::of(&head) else { panic!("no executable") };
        assert_eq!(architecture.words(), "x86 with 32-bit addresses");
    }
}
