//! Kernel configuration options for debugging that always cost latency.

use super::machine::Machine;
use super::rule::{Look, Rule, Severity, Sign};

const LOCKS: &[&str] =
    &["PROVE_LOCKING", "LOCKDEP", "DEBUG_LOCK_ALLOC", "LOCK_STAT", "PROVE_RCU", "PROVE_RAW_LOCK_NESTING"];
const LOCK_CHECKS: &[&str] =
    &["DEBUG_SPINLOCK", "DEBUG_MUTEXES", "DEBUG_RT_MUTEXES", "DEBUG_RWSEMS", "DEBUG_ATOMIC_SLEEP", "DEBUG_IRQFLAGS"];
const SANITISERS: &[&str] = &["KASAN", "KCSAN", "KMSAN", "UBSAN_TRAP", "GCOV_KERNEL", "KCOV"];
const MEMORY: &[&str] = &[
    "DEBUG_PAGEALLOC_ENABLE_DEFAULT",
    "SLUB_DEBUG_ON",
    "DEBUG_OBJECTS",
    "DEBUG_VM",
    "PAGE_POISONING_ZERO",
    "DEBUG_KMEMLEAK",
];
const TRACERS: &[&str] = &["IRQSOFF_TRACER", "PREEMPT_TRACER", "TRACE_PREEMPT_TOGGLE", "TRACE_IRQFLAGS"];
const CHECKS: &[&str] = &[
    "DEBUG_PREEMPT",
    "DEBUG_TIMEKEEPING",
    "DEBUG_SHIRQ",
    "DEBUG_STACK_USAGE",
    "CSD_LOCK_WAIT_DEBUG_DEFAULT",
    "FAULT_INJECTION",
    "LATENCYTOP",
    "RCU_EQS_DEBUG",
    "DEBUG_WQ_FORCE_RR_CPU",
];

/// Options that each rule looks for.
pub const OPTIONS: &[(&str, &[&str])] = &[
    ("debugging.lock-proving", LOCKS),
    ("debugging.lock-checks", LOCK_CHECKS),
    ("debugging.sanitisers", SANITISERS),
    ("debugging.memory", MEMORY),
    ("debugging.off-tracers", TRACERS),
    ("debugging.checks", CHECKS),
];

pub const RULES: &[Rule] = &[
    Rule {
        id: "debugging.lock-proving",
        title: "the kernel validates its locking at run time",
        reason: "at every lock, lockdep searches its graph with interrupts off; the search dominates latency",
        source: "Runtime locking correctness validator",
        severity: Severity::Severe,
        look: |machine| set(machine, LOCKS),
    },
    Rule {
        id: "debugging.lock-checks",
        title: "the kernel checks every lock",
        reason: "each lock and unlock does more work, and fewer of them are inlined",
        source: "Lock types and their rules",
        severity: Severity::Warning,
        look: |machine| set(machine, LOCK_CHECKS),
    },
    Rule {
        id: "debugging.sanitisers",
        title: "the kernel was built with a sanitiser",
        reason: "the kernel checks every memory access and becomes two to ten times slower",
        source: "Kernel Address Sanitizer (KASAN)",
        severity: Severity::Severe,
        look: |machine| set(machine, SANITISERS),
    },
    Rule {
        id: "debugging.memory",
        title: "the kernel checks memory when it allocates and frees it",
        reason: "each allocation fills and compares objects, or changes mappings on all CPUs",
        source: "Short users guide for the slab allocator",
        severity: Severity::Warning,
        look: |machine| set(machine, MEMORY),
    },
    Rule {
        id: "debugging.off-tracers",
        title: "the kernel can trace sections with interrupts or preemption off",
        reason: "hooks run at every place that disables or enables them, even while no tracer is active",
        source: "ftrace - Function Tracer: irqsoff",
        severity: Severity::Notice,
        look: |machine| set(machine, TRACERS),
    },
    Rule {
        id: "debugging.checks",
        title: "the kernel has debugging options that are always active",
        reason: "each adds work to paths that every wake-up takes",
        source: "Kernel Testing Guide",
        severity: Severity::Notice,
        look: |machine| set(machine, CHECKS),
    },
];

fn set(machine: &Machine, options: &[&str]) -> Look {
    let mut signs = Vec::new();
    for option in options {
        if machine.is_built(option)? {
            let sign = Sign::new(format!("CONFIG_{option} is set")).key(*option);
            signs.push(sign.build(format!("CONFIG_{option}=n")));
        }
    }
    Ok(signs)
}
