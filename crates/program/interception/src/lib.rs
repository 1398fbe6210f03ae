//! A library that a program loads first, and that records the program's system calls without one of its own, and its calls of the C
//! library.
//!
//! [`process`] is all that touches the running program: it finds the loaded files, changes their code, and holds the
//! entry that the changed code jumps to, and the functions that replace functions of the C library. What to change is decided
//! without touching anything: [`unwind_table`] says where functions start, [`frames`] where callers are on the stack, [`sites`]
//! finds the `syscall` instructions in them and room for a jump, and [`stub`] is the code that the jump leads to. Anything doubtful is left as it is, and listed.

#[cfg(target_arch = "x86_64")]
pub mod frames;
#[cfg(target_arch = "x86_64")]
pub mod memory_map;
#[cfg(not(test))]
pub mod process;
#[cfg(target_arch = "x86_64")]
pub mod sites;
#[cfg(target_arch = "x86_64")]
pub mod stub;
#[cfg(target_arch = "x86_64")]
pub mod unwind_table;
