//! What code a late interrupt broke into, where its stack trace was recorded: whether interrupts were enabled there.
//!
//! A pending interrupt comes in at the instruction that enables interrupts. So one that comes in in the middle of code
//! that masks none was not pending: it was not delivered in time.

use crate::read::event::{Event, EventKind};
use crate::read::unwinding::{Role, thread_part};
use crate::replay::trace::{CpuActivity, Trace};

/// Functions that release a lock and enable interrupts.
const ENABLING: [&str; 3] = ["_raw_spin_unlock_irq", "_raw_read_unlock_irq", "_raw_write_unlock_irq"];
/// Functions that leave the interrupt flag alone, and what they call, too.
const NEUTRAL: [&str; 26] = [
    "__arch_copy_from_user",
    "__arch_copy_to_user",
    "__memcpy",
    "__memset",
    "__pi_clear_page",
    "__pi_copy_page",
    "__pi_memcpy",
    "__pi_memset",
    "__pv_queued_spin_unlock",
    "__raw_callee_save___pv_queued_spin_unlock",
    "_raw_spin_lock",
    "_raw_spin_unlock",
    "clear_page_erms",
    "clear_page_orig",
    "clear_page_rep",
    "copy_page",
    "copy_user_enhanced_fast_string",
    "copy_user_generic_string",
    "copy_user_generic_unrolled",
    "memcpy",
    "memcpy_orig",
    "memmove",
    "memset",
    "memset_orig",
    "rep_movs_alternative",
    "rep_stos_alternative",
];
/// The outermost function of an interrupt that broke into user space: on arm64 there is one for that, on x86 the stack
/// goes on if it broke into the kernel.
const ENTRIES_FROM_USER: [&str; 3] = ["asm_sysvec_", "asm_common_interrupt", "el0t_64_irq"];

/// The code of a thread that an interrupt broke into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InterruptedCode {
    UserSpace,
    /// A function that does not change the interrupt flag.
    Neutral(String),
    /// A function that enables interrupts.
    Enabling(String),
}

impl InterruptedCode {
    /// According to the stack trace recorded in the interrupt that was entered at `entry_ns`. `None` without one, or for code
    /// that shows nothing.
    pub fn find(activity: &CpuActivity, trace: &Trace, entry_ns: i64) -> Option<Self> {
        let inside = activity.events_between(entry_ns, i64::MAX).iter();
        let mut inside = inside.take_while(|event| !leaves(event));
        let recorded = inside.find(|event| event.what == EventKind::Stack)?;
        let stack = activity.stacks.iter().find(|stack| stack.ts_ns == recorded.ts_ns)?;
        let name = |&caller: &u64| trace.names.function_known(caller).unwrap_or_default();
        let names: Vec<&str> = stack.callers.iter().map(name).collect();
        let outermost = names.last()?;
        match thread_part(&names, |name| Role::of(name)).first() {
            None if ENTRIES_FROM_USER.iter().any(|entry| outermost.starts_with(entry)) => Some(Self::UserSpace),
            None => None,
            Some(innermost) if NEUTRAL.contains(innermost) => Some(Self::Neutral((*innermost).to_owned())),
            Some(innermost) if ENABLING.iter().any(|function| innermost.starts_with(function)) => {
                Some(Self::Enabling((*innermost).to_owned()))
            }
            Some(_) => None,
        }
    }

    /// Whether interrupts had been enabled before this one came in.
    pub fn was_unmasked(&self) -> bool {
        !matches!(self, Self::Enabling(_))
    }
}

fn leaves(event: &Event) -> bool {
    matches!(event.what, EventKind::VectorExit { .. } | EventKind::IrqExit { .. })
}
