//! System calls of the library itself, which must not pass through the code that it patched.

use std::arch::asm;

/// Makes a system call. The result is negative for an error, as the kernel returns it.
///
/// # Safety
/// As for the call: its pointers are valid, and it breaks nothing that other code relies on.
pub unsafe fn call(number: u64, arguments: [u64; 6]) -> i64 {
    let result: i64;
    // SAFETY: the kernel changes rax, rcx and r11, and memory as the call defines.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as i64 => result,
            in("rdi") arguments[0],
            in("rsi") arguments[1],
            in("rdx") arguments[2],
            in("r10") arguments[3],
            in("r8") arguments[4],
            in("r9") arguments[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
    }
    result
}

/// Number of the calling thread.
pub fn thread_number() -> u32 {
    // SAFETY: the call takes no argument and changes nothing.
    unsafe { call(libc::SYS_gettid as u64, [0; 6]) as u32 }
}

/// Number of the calling process.
pub fn process_number() -> u32 {
    // SAFETY: as above.
    unsafe { call(libc::SYS_getpid as u64, [0; 6]) as u32 }
}

/// Changes the rights of pages.
///
/// # Safety
/// Nothing relies on the rights that are taken away.
pub unsafe fn protect(start: u64, bytes: u64, rights: i32) -> bool {
    // SAFETY: what the caller promises.
    unsafe { call(libc::SYS_mprotect as u64, [start, bytes, rights as u64, 0, 0, 0]) == 0 }
}

/// Ticks of the cycle counter.
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Sleeps, at least for this time unless a signal comes.
pub fn sleep_ns(ns: u64) {
    let time = libc::timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
    let clock = libc::CLOCK_MONOTONIC as u64;
    // SAFETY: the time is valid during the call, and nothing is written.
    unsafe { call(libc::SYS_clock_nanosleep as u64, [clock, 0, &raw const time as u64, 0, 0, 0]) };
}
