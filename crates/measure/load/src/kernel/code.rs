//! Executable memory full of functions that return at once.
//!
//! The functions are written to a file in memory and mapped from it like a program's, so that the kernel maintains
//! instruction cache coherence on processors that need it.

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap};
use std::fs::File;
use std::io::{self, Write};

/// One function in each.
const LINE_BYTES: usize = 64;

/// A function that returns at once.
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
const RETURN: Option<&[u8]> = Some(&[0xc3]);
#[cfg(target_arch = "aarch64")]
const RETURN: Option<&[u8]> = Some(&[0xc0, 0x03, 0x5f, 0xd6]);
#[cfg(target_arch = "arm")]
const RETURN: Option<&[u8]> = Some(&[0x1e, 0xff, 0x2f, 0xe1]);
#[cfg(any(target_arch = "riscv64", target_arch = "riscv32"))]
const RETURN: Option<&[u8]> = Some(&[0x67, 0x80, 0x00, 0x00]);
#[cfg(not(any(
    target_arch = "x86_64",
    target_arch = "x86",
    target_arch = "aarch64",
    target_arch = "arm",
    target_arch = "riscv64",
    target_arch = "riscv32"
)))]
const RETURN: Option<&[u8]> = None;

/// `count` functions, each in its own cache line, mapped for the lifetime of the process.
///
/// # Errors
/// On a processor whose code is not known here, and without memory.
pub fn returning_functions(count: usize) -> io::Result<Vec<extern "C" fn()>> {
    let Some(function) = RETURN else {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "this load knows no code for this processor"));
    };
    let bytes = count * LINE_BYTES;
    let mut code = vec![0; bytes];
    code.chunks_exact_mut(LINE_BYTES).for_each(|line| line[..function.len()].copy_from_slice(function));
    let mut file = File::from(memfd_create(c"load-icache", MemfdFlags::CLOEXEC)?);
    file.write_all(&code)?;
    let protection = ProtFlags::READ | ProtFlags::EXEC;
    // SAFETY: a new private mapping at an address of the kernel's choice, of a file of this size that no other process has.
    let start = unsafe { mmap(std::ptr::null_mut(), bytes, protection, MapFlags::PRIVATE, &file, 0)? };
    let function = |number: usize| {
        // SAFETY: within the mapping; each line begins with a whole function for this processor that takes and returns
        // nothing, and the mapping is never taken away.
        unsafe { std::mem::transmute::<*mut u8, extern "C" fn()>(start.cast::<u8>().add(number * LINE_BYTES)) }
    };
    Ok((0..count).map(function).collect())
}
