//! Instruction cache misses: more small functions than the caches of instructions and of their translations hold, called in
//! an order nobody guesses. Whatever runs between finds its code pushed out, the kernel's included.
//!
//! The functions are written to a file in memory and mapped from it like a program's, so that the kernel keeps instruction
//! caches right on processors that do not do so by themselves.

use super::crew::Crew;
use super::draws::Draws;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap};
use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};

const CODE_BYTES: usize = 2 << 20;
/// One function in each.
const LINE_BYTES: usize = 64;
const FUNCTIONS: usize = CODE_BYTES / LINE_BYTES;

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

pub fn start(crew: &mut Crew) -> io::Result<()> {
    let functions = functions()?;
    for number in 0..crew.workers.max(1) {
        crew.fork("load-icache", |counter| work(&functions, Draws::of_worker(number), counter))?;
    }
    Ok(())
}

/// The functions, mapped for as long as the process lives.
fn functions() -> io::Result<Vec<extern "C" fn()>> {
    let Some(function) = RETURN else {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "this load knows no code for this processor"));
    };
    let mut code = vec![0; CODE_BYTES];
    code.chunks_exact_mut(LINE_BYTES).for_each(|line| line[..function.len()].copy_from_slice(function));
    let mut file = File::from(memfd_create(c"load-icache", MemfdFlags::CLOEXEC)?);
    file.write_all(&code)?;
    let protection = ProtFlags::READ | ProtFlags::EXEC;
    // SAFETY: a new private mapping at an address of the kernel's choice, of a file of this size that nobody shrinks.
    let start = unsafe { mmap(std::ptr::null_mut(), CODE_BYTES, protection, MapFlags::PRIVATE, &file, 0)? };
    let function = |number: usize| {
        // SAFETY: within the mapping; each line begins with a whole function for this processor that takes and returns
        // nothing, and the mapping is never taken away.
        unsafe { std::mem::transmute::<*mut u8, extern "C" fn()>(start.cast::<u8>().add(number * LINE_BYTES)) }
    };
    Ok((0..FUNCTIONS).map(function).collect())
}

fn work(functions: &[extern "C" fn()], mut draws: Draws, counter: &AtomicU64) -> ! {
    let mut order: Vec<extern "C" fn()> = functions.to_vec();
    for last in (1..order.len()).rev() {
        order.swap(last, draws.between(0, last));
    }
    loop {
        order.iter().for_each(|function| function());
        counter.fetch_add(order.len() as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_function_returns() {
        let functions = super::functions().expect("functions");
        assert_eq!(functions.len(), super::FUNCTIONS);
        functions.iter().for_each(|function| function());
    }
}
