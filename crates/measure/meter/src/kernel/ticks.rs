//! The cycle counter that an intercepted program stamps its calls with.

/// Its ticks now; `None` on a processor without a counter that programs can read.
pub fn now() -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction.
    return Some(unsafe { std::arch::x86_64::_rdtsc() });
    #[cfg(not(target_arch = "x86_64"))]
    None
}
