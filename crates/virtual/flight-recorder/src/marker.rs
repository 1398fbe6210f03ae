//! The instruction with which the guest's meter marks that it has just counted a wake-up.
//!
//! It is `nop dword ptr [rax + DISPLACEMENT]`, which has no effect on any x86-64 processor. The meter's source has the
//! same displacement.

/// The whole instruction: opcode, ModR/M with a 32-bit displacement, `tdy!`.
const MARKER: [u8; 7] = [0x0f, 0x1f, 0x80, b't', b'd', b'y', b'!'];
/// `hlt`, after which time passes without instructions.
const HALT: [u8; 1] = [0xf4];

pub fn is_marker(instruction: &[u8]) -> bool {
    instruction == MARKER
}

pub fn is_halt(instruction: &[u8]) -> bool {
    instruction == HALT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_nop_is_no_marker() {
        assert!(is_marker(b"\x0f\x1f\x80tdy!"));
        assert!(!is_marker(b"\x0f\x1f\x80\0\0\0\0") && !is_marker(b"\x0f\x1f\x80tdy") && !is_marker(b""));
        assert!(is_halt(&[0xf4]) && !is_halt(&[0xf4, 0xf4]));
    }
}
