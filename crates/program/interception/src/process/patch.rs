//! Changes the code of the loaded files.
//!
//! It runs before the program's own code and only if there is no other thread, so nothing executes the bytes meanwhile. All
//! stubs are written before the first jump to one.

use super::calls;
use super::entry::{tardy_interception_entry, tardy_interception_returned};
use super::memory::Memory;
use super::modules::{self, Code};
use super::system;
use crate::sites::{self, Site, Text};
use crate::stub::{self, Pointers, STUB_BYTES_MAX};
use call_ring::header::{Reason, Refusal, at};
use std::fs;
use std::sync::atomic::Ordering::Relaxed;

const PAGE: u64 = 4096;
/// A jump reaches 2 GiB; the file itself may be large, too.
const REACH: u64 = 1 << 30;
const STEP: u64 = 1 << 20;
/// The two pointers in front of the stubs.
const POINTERS_BYTES: usize = 16;

/// Patches everything that is loaded.
pub fn apply(memory: Memory) {
    let alone = fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1);
    if !alone {
        return memory.refuse(Refusal::Threads);
    }
    // The entry saves the vector registers with it; every processor of this century's second decade has it.
    if !std::is_x86_feature_detected!("xsave") {
        return memory.refuse(Refusal::Architecture);
    }
    calls::prepare(memory.rules());
    calls::use_memory(memory);
    calls::quietly(|| {
        let changes: Vec<Change> = modules::loaded().iter().filter_map(|code| Change::plan(code, memory)).collect();
        let patched: u64 = changes.iter().map(|change| change.make(memory)).sum();
        memory.word(at::PATCHED).fetch_add(patched, Relaxed);
    });
}

/// The new bytes of one code.
struct Change {
    code: Code,
    /// Address and bytes of each jump, and the instruction that it replaces.
    jumps: Vec<(u64, Vec<u8>, u64)>,
}

impl Change {
    /// Writes the stubs; `None` if there is nothing to change.
    fn plan(code: &Code, memory: Memory) -> Option<Self> {
        let text = Text { start: code.range.start, bytes: modules::bytes(code) };
        let found = sites::find(text, &code.functions);
        found.unpatched.iter().for_each(|(address, reason)| memory.list_unpatched(*address, *reason));
        if found.sites.is_empty() {
            return None;
        }
        let bytes = (POINTERS_BYTES + found.sites.len() * STUB_BYTES_MAX) as u64;
        let bytes = bytes.next_multiple_of(PAGE);
        let list = |site: &Site, reason| memory.list_unpatched(site.address, reason);
        let Some(start) = memory_near(code, bytes) else {
            found.sites.iter().for_each(|site| list(site, Reason::NoMemoryNear));
            return None;
        };
        let mut stubs = Vec::with_capacity(bytes as usize);
        stubs.extend((tardy_interception_entry as *const () as u64).to_le_bytes());
        stubs.extend((tardy_interception_returned as *const () as u64).to_le_bytes());
        let pointers = Pointers { entry: start, returned: start + 8 };
        let mut jumps = Vec::new();
        for site in &found.sites {
            let address = start + stubs.len() as u64;
            let made = stub::encode(site, address, pointers).zip(stub::jump(site, address));
            let Some((stub, jump)) = made else {
                list(site, Reason::NoRoom);
                continue;
            };
            stubs.extend(stub);
            jumps.push((site.region.start, jump, site.address));
        }
        // SAFETY: the pages were mapped just now, are that long, and nothing else knows them.
        unsafe {
            std::ptr::copy_nonoverlapping(stubs.as_ptr(), start as *mut u8, stubs.len());
            system::protect(start, bytes, libc::PROT_READ | libc::PROT_EXEC);
        }
        Some(Self { code: code.clone(), jumps })
    }

    /// Writes the jumps; returns their number.
    fn make(&self, memory: Memory) -> u64 {
        let start = self.code.range.start & !(PAGE - 1);
        let bytes = (self.code.range.end - start).next_multiple_of(PAGE);
        let all = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        // SAFETY: rights are only added here. The pages are the process's own copies as soon as they are written.
        if !unsafe { system::protect(start, bytes, all) } {
            self.jumps.iter().for_each(|(_, _, site)| memory.list_unpatched(*site, Reason::Protected));
            return 0;
        }
        for (address, jump, _) in &self.jumps {
            for (at, byte) in jump.iter().enumerate() {
                // SAFETY: the bytes are writable now, and part of instructions that the stub replaces; no thread executes
                // them, and nothing jumps between them.
                unsafe { ((address + at as u64) as *mut u8).write_volatile(*byte) };
            }
        }
        // SAFETY: the rights that the loader had given.
        unsafe { system::protect(start, bytes, self.code.rights) };
        self.jumps.len() as u64
    }
}

/// Maps memory within reach of a code.
fn memory_near(code: &Code, bytes: u64) -> Option<u64> {
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE) as u64;
    let rights = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    let map = |start: u64| {
        // SAFETY: the kernel refuses an address where something is mapped.
        let mapped = unsafe { system::call(libc::SYS_mmap as u64, [start, bytes, rights, flags, u64::MAX, 0]) };
        // A kernel without the flag takes the address as a hint.
        (mapped as u64 == start).then_some(start)
    };
    let below = code.range.start & !(PAGE - 1);
    let above = code.range.end.next_multiple_of(PAGE);
    (1..REACH / STEP).find_map(|step| {
        let lower = below.checked_sub(step * STEP).filter(|start| *start >= STEP && start + bytes <= below);
        lower.and_then(map).or_else(|| map(above + step * STEP))
    })
}
