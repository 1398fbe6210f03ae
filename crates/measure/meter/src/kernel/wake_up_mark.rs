//! Marks a wake-up for the emulator's flight recorder with an instruction that has no effect.
//!
//! The flight recorder of virtual time searches for it in the executed code. Everywhere else, including virtual time
//! without a recorder, it is one instruction, so a run with the recorder is identical to one without.

/// A displacement that makes this `nop` unique: `tdy!`, little-endian. The recorder uses the same value.
pub const WAKE_UP_SEEN: u32 = u32::from_le_bytes(*b"tdy!");

/// Marks that the measuring thread has just read the clock.
#[inline(always)]
pub fn wake_up_seen() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a multi-byte `nop` touches no register, no flag and, despite its operand, no memory.
    unsafe {
        std::arch::asm!("nop dword ptr [rax + {}]", const WAKE_UP_SEEN as i32, options(nomem, nostack, preserves_flags));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_instruction_has_the_bytes_that_the_recorder_looks_for() {
        let expected = [0x0f, 0x1f, 0x80, b't', b'd', b'y', b'!'];
        // SAFETY: reads the code of a function of this program, which is as long as the instruction and its return.
        let code = unsafe { std::slice::from_raw_parts(marked as *const u8, 64) };
        assert!(code.windows(expected.len()).any(|window| window == expected), "{code:02x?}");
        marked();
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(never)]
    extern "C" fn marked() {
        super::wake_up_seen();
    }
}
