//! A full disk of a board: how its shell reports it, and the fix.

/// The fix, appended to a sentence.
pub const NO_ROOM_FIX: &str = "; free some, or name another place with `directory` in the target file";

/// Whether the shell's output contains "disk full" (ENOSPC in the C library's words).
pub fn is_full(output: &str) -> bool {
    output.contains("No space left on device")
}
