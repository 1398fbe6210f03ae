//! Decisions about a call that the entry leaves to Rust.

/// Record the call as usual.
pub const USUAL: u64 = 0;
/// The stub makes the call, on the program's own stack.
pub const IN_STUB: u64 = 1;
/// The call was made, or is not made; the result is in the saved registers.
pub const DONE: u64 = 2;
/// Make the call without a record.
pub const UNRECORDED: u64 = 3;
