//! Registers of the program at a call.

use super::ring::Call;

/// Registers of the program, as the entry saves them.
#[repr(C)]
#[derive(Debug)]
pub struct Registers {
    pub rbp: u64,
    pub r10: u64,
    pub r9: u64,
    pub r8: u64,
    pub rsi: u64,
    pub rdi: u64,
    pub rax: u64,
    pub r11: u64,
    pub r12: u64,
    pub rdx: u64,
    pub rbx: u64,
    pub rcx: u64,
    /// The address of the call, for unwinders.
    pub next: u64,
}

impl Registers {
    pub fn arguments(&self) -> [u64; 6] {
        [self.rdi, self.rsi, self.rdx, self.r10, self.r8, self.r9]
    }

    /// The call, under a number with its flags.
    pub fn call(&self, number: u32) -> Call {
        Call { number, arguments: self.arguments(), address: self.r11 }
    }

    /// The stack pointer of the program.
    pub fn stack(&self) -> u64 {
        &raw const *self as u64 + size_of::<Self>() as u64 + 128
    }
}
