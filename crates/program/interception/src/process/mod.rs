//! The library in the running program. All unsafe code of the crate is here.
//!
//! [`start`] runs before the program's own code. Where the environment names no memory it does nothing; if anything is
//! missing the program runs as it would without the library, and the memory says why.

#[cfg(target_arch = "x86_64")]
mod action;
#[cfg(target_arch = "x86_64")]
mod calls;
#[cfg(target_arch = "x86_64")]
mod entry;
#[cfg(target_arch = "x86_64")]
mod interposed;
#[cfg(target_arch = "x86_64")]
mod library;
mod memory;
#[cfg(target_arch = "x86_64")]
mod modules;
#[cfg(target_arch = "x86_64")]
mod next;
#[cfg(target_arch = "x86_64")]
mod patch;
#[cfg(target_arch = "x86_64")]
mod policy;
#[cfg(target_arch = "x86_64")]
mod registers;
#[cfg(target_arch = "x86_64")]
mod ring;
#[cfg(target_arch = "x86_64")]
mod system;
#[cfg(target_arch = "x86_64")]
mod thread;
#[cfg(target_arch = "x86_64")]
mod unwinding;

use call_ring::MEMORY_VARIABLE;
use call_ring::header::Refusal;
use memory::Memory;
use std::path::Path;

/// The loader calls it.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

/// Patches the program, if its environment asks for it.
extern "C" fn start() {
    // A panic must not reach the loader. The hook would print to a program's standard error.
    if let Some(path) = std::env::var_os(MEMORY_VARIABLE) {
        let _ = std::panic::catch_unwind(|| prepare(Path::new(&path)));
    }
}

fn prepare(path: &Path) {
    let Some(memory) = Memory::open(path) else { return };
    memory.count_process();
    #[cfg(target_arch = "x86_64")]
    {
        patch::apply(memory);
        library::start(memory);
    }
    #[cfg(not(target_arch = "x86_64"))]
    memory.refuse(Refusal::Architecture);
    #[cfg(target_arch = "x86_64")]
    let _ = Refusal::Architecture;
}
