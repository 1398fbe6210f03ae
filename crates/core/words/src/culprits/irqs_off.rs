//! Words about irqs-off: interrupts masked by a task.

use super::Advice;
pub use super::stated::words;

pub const ADVICE: Advice = Advice {
    title: "interrupts masked by a task",
    confirm: "the irqsoff tracer where the kernel has it; tardy run --stack",
    fix: "report the function, where it is known, to its maintainers; keep the task off the CPU (cpuset, taskset, isolcpus)",
};
