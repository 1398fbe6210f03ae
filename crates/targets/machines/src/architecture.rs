//! The processor architectures of targets, and how to detect that of a program.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The architecture of a target's programs. Names are Debian's, except the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    #[default]
    #[serde(rename = "x86_64")]
    X86_64,
    Arm64,
    /// ARMv7 with hardware floating point.
    Armhf,
    Riscv64,
}

/// A name that is not a known architecture.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{name}` is not a supported architecture; there are {}", Architecture::ALL.map(Architecture::name).join(", "))]
pub struct UnknownArchitecture {
    pub name: String,
}

const MACHINE_AT: usize = 18;

impl Architecture {
    pub const ALL: [Self; 4] = [Self::X86_64, Self::Arm64, Self::Armhf, Self::Riscv64];

    /// The architecture of the running program; `None` if it is not supported.
    pub fn of_host() -> Option<Self> {
        match std::env::consts::ARCH {
            "x86_64" => Some(Self::X86_64),
            "aarch64" => Some(Self::Arm64),
            "arm" => Some(Self::Armhf),
            "riscv64" => Some(Self::Riscv64),
            _ => None,
        }
    }

    /// The architecture of an ELF file; `None` for anything else.
    pub fn of_program(bytes: &[u8]) -> Option<Self> {
        let machine = bytes.get(MACHINE_AT..MACHINE_AT + 2)?;
        let machine = u16::from_le_bytes([machine[0], machine[1]]);
        // Class and byte order, then ELF's number of the processor.
        match (bytes.get(..6)?, machine) {
            (b"\x7fELF\x02\x01", 62) => Some(Self::X86_64),
            (b"\x7fELF\x02\x01", 183) => Some(Self::Arm64),
            (b"\x7fELF\x01\x01", 40) => Some(Self::Armhf),
            (b"\x7fELF\x02\x01", 243) => Some(Self::Riscv64),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Arm64 => "arm64",
            Self::Armhf => "armhf",
            Self::Riscv64 => "riscv64",
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Architecture {
    type Err = UnknownArchitecture;

    /// Accepts the names of Debian and those of the kernel.
    fn from_str(text: &str) -> Result<Self, UnknownArchitecture> {
        match text {
            "x86_64" | "amd64" => Ok(Self::X86_64),
            "arm64" | "aarch64" => Ok(Self::Arm64),
            "armhf" | "armv7" | "armv7l" => Ok(Self::Armhf),
            "riscv64" => Ok(Self::Riscv64),
            _ => Err(UnknownArchitecture { name: text.into() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_however_they_are_written() {
        for architecture in Architecture::ALL {
            assert_eq!(architecture.name().parse(), Ok(architecture));
            let quoted = serde_json::to_string(&architecture).unwrap();
            assert_eq!(quoted, format!("\"{architecture}\""));
        }
        assert_eq!("aarch64".parse(), Ok(Architecture::Arm64));
        assert!("sparc".parse::<Architecture>().unwrap_err().to_string().contains("riscv64"));
    }

    #[test]
    fn a_program_says_what_it_is_for() {
        let this = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(Architecture::of_program(&this), Architecture::of_host());
        assert_eq!(Architecture::of_program(b"#!/bin/sh\necho no program at all"), None);
        for length in 0..20 {
            assert_eq!(Architecture::of_program(&this[..length]), None);
        }
    }
}
