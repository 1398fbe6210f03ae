//! Kernel functions by name: entries of interrupts and exceptions, and the start of a thread's own calls.

use crate::read::function_table::FunctionTable;

/// Functions through which an interrupt enters the kernel, on the supported architectures.
const INTERRUPT_ENTRIES: [&str; 17] = [
    "irq_enter",
    "sysvec_",
    "__sysvec_",
    "asm_sysvec_",
    "common_interrupt",
    "__common_interrupt",
    "asm_common_interrupt",
    "call_on_irq_stack",
    "do_interrupt_handler",
    "el1_interrupt",
    "el1h_64_irq",
    "el0_interrupt",
    "el0t_64_irq",
    "gic_handle_irq",
    "generic_handle_arch_irq",
    "__irq_svc",
    "__irq_usr",
];

/// Functions through which a fault enters the kernel.
const EXCEPTION_ENTRIES: [&str; 7] =
    ["exc_", "asm_exc_", "do_mem_abort", "do_page_fault", "el1_abort", "el0_da", "do_DataAbort"];

/// Functions through which a thread leaves the kernel.
const EXITS: [&str; 6] = [
    "exit_to_user_mode",
    "syscall_exit_to_user_mode",
    "irqentry_exit_to_user_mode",
    "__prepare_exit_to_usermode",
    "prepare_exit_to_usermode",
    "do_notify_resume",
];

/// The last functions that these call, in any order.
const LAST_STEPS: [&str; 5] = ["switch_fpu_return", "restore_fpregs", "fpregs_", "xfd_", "__rseq_"];

/// Functions whose caller is user space, or the start of a kernel thread.
const ROOTS: [&str; 12] = [
    "entry_SYSCALL",
    "do_syscall_64",
    "do_fast_syscall_32",
    "__do_fast_syscall_32",
    "el0_svc",
    "el0t_64_sync",
    "do_el0_svc",
    "ret_fast_syscall",
    "ret_from_fork",
    "kthread",
    "do_trap_ecall_u",
    "cpu_startup_entry",
];

pub fn is_interrupt_entry(name: &str) -> bool {
    INTERRUPT_ENTRIES.iter().any(|entry| name.starts_with(entry))
}

fn is_exception_entry(name: &str) -> bool {
    EXCEPTION_ENTRIES.iter().any(|entry| name.starts_with(entry))
}

fn is_exit_to_user(name: &str) -> bool {
    EXITS.iter().any(|exit| name.starts_with(exit))
}

/// Whether only user space can take long after this function, when a thread is leaving the kernel.
fn is_last_step(name: &str) -> bool {
    is_exit_to_user(name) || LAST_STEPS.iter().any(|step| name.starts_with(step))
}

/// Properties of a function according to its name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Role {
    pub interrupt_entry: bool,
    pub exception_entry: bool,
    pub exit_to_user: bool,
    /// Only user space can take long after it, when a thread is leaving the kernel.
    pub last_step: bool,
    /// Its caller is user space, or the start of a kernel thread.
    root: bool,
    /// It records the stack.
    recording: bool,
}

impl Role {
    pub fn of(name: &str) -> Self {
        Self {
            interrupt_entry: is_interrupt_entry(name),
            exception_entry: is_exception_entry(name),
            exit_to_user: is_exit_to_user(name),
            last_step: is_last_step(name),
            root: ROOTS.iter().any(|root| name.starts_with(root)) || name.contains("_sys_"),
            recording: name.starts_with("trace_event_") || name.starts_with("__traceiter_"),
        }
    }
}

/// The roles of all functions of a trace, computed once.
#[derive(Debug)]
pub struct Roles<'n> {
    functions: &'n FunctionTable,
    by_number: Vec<Role>,
}

impl<'n> Roles<'n> {
    pub fn of(functions: &'n FunctionTable) -> Self {
        let by_number = functions.names().map(|name| name.map_or(Role::default(), Role::of)).collect();
        Self { functions, by_number }
    }

    /// A function without a name has no role.
    #[inline]
    pub fn at(&self, address: u64) -> Role {
        let number = self.functions.number(address);
        number.and_then(|number| self.by_number.get(number as usize)).copied().unwrap_or_default()
    }
}

/// The interrupted thread's own calls in a stack trace, innermost first: without the interrupt and the recording itself
/// on one side, and without remains of earlier calls on the other, which unreliable stack walks contain.
pub fn thread_part<T>(innermost_first: &[T], role: impl Fn(&T) -> Role) -> &[T] {
    let after = innermost_first.iter().rposition(|call| role(call).interrupt_entry).map_or(0, |index| index + 1);
    let calls = &innermost_first[after..];
    let calls = &calls[calls.iter().position(|call| !role(call).recording).unwrap_or(calls.len())..];
    match calls.iter().position(|call| role(call).root) {
        Some(root) => &calls[..=root],
        None => calls,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_cut_to_the_calls_of_the_interrupted_thread() {
        let stack = "trace_event_raw_event_hrtimer_expire_entry __hrtimer_run_queues hrtimer_interrupt \
                     __sysvec_apic_timer_interrupt sysvec_apic_timer_interrupt asm_sysvec_apic_timer_interrupt \
                     make_kuid inode_init_always alloc_inode __x64_sys_openat get_random_u32";
        let names: Vec<String> = stack.split_whitespace().map(str::to_owned).collect();
        let of = |name: &String| Role::of(name);
        assert_eq!(thread_part(&names, of).join(" "), "make_kuid inode_init_always alloc_inode __x64_sys_openat");
        assert_eq!(thread_part(&[], of).len(), 0);
    }
}
