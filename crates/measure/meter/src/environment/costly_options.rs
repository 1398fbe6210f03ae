//! Options of the kernel's configuration that ruin latency.

/// Kernel options that add work to hot paths, or long IRQ-off sections.
pub const COSTLY_OPTIONS: &[&str] = &[
    "CSD_LOCK_WAIT_DEBUG",
    "DEBUG_ATOMIC_SLEEP",
    "DEBUG_IRQFLAGS",
    "DEBUG_KMEMLEAK",
    "DEBUG_LOCK_ALLOC",
    "DEBUG_MUTEXES",
    "DEBUG_OBJECTS",
    "DEBUG_PAGEALLOC_ENABLE_DEFAULT",
    "DEBUG_PREEMPT",
    "DEBUG_RT_MUTEXES",
    "DEBUG_SHIRQ",
    "DEBUG_SPINLOCK",
    "DEBUG_STACK_USAGE",
    "DEBUG_TIMEKEEPING",
    "DEBUG_VM",
    "DEBUG_WQ_FORCE_RR_CPU",
    "FAULT_INJECTION",
    "GCOV_KERNEL",
    "IRQSOFF_TRACER",
    "KASAN",
    "KCSAN",
    "KMSAN",
    "LATENCYTOP",
    "LOCKDEP",
    "LOCK_STAT",
    "PREEMPT_TRACER",
    "PROVE_LOCKING",
    "PROVE_RCU",
    "RCU_EQS_DEBUG",
    "SLUB_DEBUG_ON",
    "UBSAN",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_in_order_and_without_repetition() {
        assert!(COSTLY_OPTIONS.is_sorted_by(|a, b| a < b));
    }
}
