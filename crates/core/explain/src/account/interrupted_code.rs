//! The code that a late interrupt broke into, where the kernel recorded it or its stack trace: whether interrupts were enabled
//! there.
//!
//! A pending interrupt comes in at the instruction that enables interrupts. So one that comes in in the middle of code
//! that masks none was not pending: it was not delivered in time.

use crate::read::event::{Event, EventKind, Vector};
use crate::read::unwinding::{Role, thread_part};
use crate::replay::trace::{CpuActivity, Trace};
use archive::spike::{Interrupted, LateInterrupt};

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

/// Functions at the entry to the kernel, which the processor enters with interrupts masked and which enable them at once.
const ENTRIES: [&str; 5] =
    ["do_syscall_64", "do_fast_syscall_32", "__do_fast_syscall_32", "do_int80_emulation", "exc_page_fault"];
/// It enables interrupts right after the switch from one thread to the next.
const AFTER_A_SWITCH: &str = "finish_task_switch";

/// Whether a late interrupt came in where an idle CPU had halted with interrupts enabled: behind `sti` and `hlt` or `mwait` of x86. In
/// a guest the host has the CPU there.
pub fn came_in_a_halt(late: &LateInterrupt) -> bool {
    const HALTS: [&[u8]; 2] = [&[0xfb, 0xf4], &[0xfb, 0x0f, 0x01, 0xc9]];
    match &late.interrupted {
        Interrupted::Kernel { code_before, .. } if late.tid == 0 => {
            let code = bytes(code_before);
            HALTS.iter().any(|halt| code.ends_with(halt))
        }
        _ => false,
    }
}

/// When interrupts were enabled, by the code of x86 before the instruction that was next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Enabled {
    /// By the instruction before: a pending interrupt comes in here.
    Now,
    Earlier,
    Unclear,
}

impl Enabled {
    fn before(code: &[u8]) -> Self {
        /// Bytes in place of an instruction that a guest of another kind needs.
        const FILLING: [&[u8]; 5] =
            [&[0x0f, 0x1f, 0x44, 0, 0], &[0x0f, 0x1f, 0x40, 0], &[0x0f, 0x1f, 0], &[0x66, 0x90], &[0x90]];
        /// `sti`, `popf` and `iret`.
        const ENABLE: [u8; 3] = [0xfb, 0x9d, 0xcf];
        /// `vmcall` and `vmmcall`.
        const ENTER_THE_HOST: [[u8; 3]; 2] = [[0x0f, 0x01, 0xc1], [0x0f, 0x01, 0xd9]];
        if code.len() < CODE_BYTES {
            return Self::Unclear;
        }
        let mut rest = code;
        while let Some(shorter) = FILLING.iter().find_map(|filling| rest.strip_suffix(*filling)) {
            rest = shorter;
        }
        if rest.last().is_some_and(|byte| ENABLE[..2].contains(byte)) {
            return Self::Now;
        }
        // A called function can have enabled them with its last instruction but one.
        let from_the_end = |distance: usize| code.len().checked_sub(distance).map(|at| code[at]);
        let called = from_the_end(5) == Some(0xe8) || [2, 3, 6, 7].iter().any(|&at| from_the_end(at) == Some(0xff));
        let enters_the_host = code.windows(3).any(|three| ENTER_THE_HOST.contains(&[three[0], three[1], three[2]]))
            || code.windows(2).any(|pair| pair == [0x0f, 0x05]);
        if called || enters_the_host || code.iter().any(|byte| ENABLE.contains(byte)) {
            return Self::Unclear;
        }
        Self::Earlier
    }
}

const CODE_BYTES: usize = 16;

/// From hexadecimal digits; empty if they are none.
fn bytes(digits: &str) -> Vec<u8> {
    let pair = |at: usize| digits.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let count = if digits.len() == CODE_BYTES * 2 { CODE_BYTES } else { 0 };
    (0..count).map_while(|at| pair(at * 2)).collect()
}

/// The code of a thread that an interrupt broke into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InterruptedCode {
    UserSpace,
    /// A function that does not change the interrupt flag.
    Neutral(String),
    /// A function that did not enable interrupts right before; elsewhere it may mask them.
    EnabledEarlier(String),
    /// A function that enables interrupts which were masked for a moment: from the entry to the kernel, or in a switch.
    Entry(String),
    /// A function that enables interrupts.
    Enabling(String),
}

impl InterruptedCode {
    /// According to the record, or the stack trace, of the interrupt that was entered at `entry_ns`. `None` without one, or for
    /// code that shows nothing.
    pub fn find(activity: &CpuActivity, trace: &Trace, entry_ns: i64) -> Option<Self> {
        match late_record(activity, entry_ns).map(|late| (late.late_ns, &late.interrupted)) {
            Some((_, Interrupted::UserSpace)) => Some(Self::UserSpace),
            Some((late_ns, Interrupted::Kernel { function: Some(name), code_before })) => {
                let overdue_ns = entry_ns.saturating_sub(late_ns);
                Self::of_place(name, code_before, is_switched_before(activity, overdue_ns, entry_ns))
            }
            Some((_, Interrupted::Kernel { function: None, .. })) | None => Self::in_stack(activity, trace, entry_ns),
        }
    }

    fn in_stack(activity: &CpuActivity, trace: &Trace, entry_ns: i64) -> Option<Self> {
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
            Some(innermost) => Self::of_function(innermost),
        }
    }

    /// By the instructions before, as far as they are clear.
    fn of_place(name: &str, code_before: &str, switched_before: bool) -> Option<Self> {
        match Enabled::before(&bytes(code_before)) {
            Enabled::Now if ENTRIES.contains(&name) => Some(Self::Entry(name.to_owned())),
            Enabled::Now if name.starts_with(AFTER_A_SWITCH) && switched_before => Some(Self::Entry(name.to_owned())),
            Enabled::Now => Some(Self::Enabling(name.to_owned())),
            Enabled::Earlier => Some(Self::EnabledEarlier(name.to_owned())),
            Enabled::Unclear => Self::of_function(name),
        }
    }

    fn of_function(name: &str) -> Option<Self> {
        if NEUTRAL.contains(&name) {
            Some(Self::Neutral(name.to_owned()))
        } else if ENABLING.iter().any(|function| name.starts_with(function)) {
            Some(Self::Enabling(name.to_owned()))
        } else {
            None
        }
    }

    /// Whether interrupts had been enabled before this one came in.
    pub fn was_unmasked(&self) -> bool {
        !matches!(self, Self::Enabling(_))
    }
}

/// Whether the CPU recorded nothing but a switch of threads since most of a stretch before the entry of an interrupt: the switch
/// masks interrupts from long before its record, and for a moment after it.
fn is_switched_before(activity: &CpuActivity, overdue_ns: i64, entry_ns: i64) -> bool {
    let last = activity.events_between(i64::MIN, entry_ns.saturating_sub(1)).last();
    let switch = last.filter(|event| matches!(event.what, EventKind::Switch { .. }));
    let since = |event: &Event| entry_ns.saturating_sub(event.ts_ns).saturating_mul(5);
    switch.is_some_and(|event| since(event) >= entry_ns.saturating_sub(overdue_ns).saturating_mul(4))
}

/// Record of the timer interrupt that was entered at `entry_ns`, beside its events.
pub fn late_record<'a>(activity: &'a CpuActivity, entry_ns: i64) -> Option<&'a LateInterrupt> {
    let inside = activity.events_between(entry_ns, i64::MAX);
    let left = |event: &&Event| event.what == EventKind::VectorExit { vector: Vector::LocalTimer };
    let left_ns = inside.iter().find(left).map_or(i64::MAX, |event| event.ts_ns);
    // The first one: the kernel reads the steal clock as soon as a timer wakes a thread.
    activity.late_interrupts.iter().find(|late| late.ts_ns >= entry_ns).filter(|late| late.ts_ns <= left_ns)
}

fn leaves(event: &Event) -> bool {
    matches!(event.what, EventKind::VectorExit { .. } | EventKind::IrqExit { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enabled(digits: &str) -> Enabled {
        Enabled::before(&bytes(&digits.replace(' ', "")))
    }

    #[test]
    fn a_pending_interrupt_comes_in_right_after_the_instruction_that_enables_it() {
        assert_eq!(
            enabled("00 90 f7 c6 00 02 00 00 74 06 fb 0f 1f 44 00 00"),
            Enabled::Now,
            "_raw_spin_unlock_irqrestore"
        );
        assert_eq!(enabled("00 00 48 89 df e8 53 f4 e5 00 90 90 90 90 90 fb"), Enabled::Now, "nothing to fill");
        assert_eq!(enabled("00 00 48 89 df 48 53 f4 e5 00 90 90 90 90 57 9d"), Enabled::Now, "popf");
    }

    #[test]
    fn code_that_enables_no_interrupts_proves_nothing_about_the_rest_of_its_function() {
        let code = "4889df48897c2408488b430848894500";
        let found = InterruptedCode::of_place("isolate_migratepages_block", code, false);
        assert_eq!(found, Some(InterruptedCode::EnabledEarlier("isolate_migratepages_block".into())));
        let copied = InterruptedCode::of_place("memcpy", "", false);
        assert_eq!(copied, Some(InterruptedCode::Neutral("memcpy".into())), "never masks any");
    }

    #[test]
    fn an_idle_cpu_halts_with_interrupts_enabled() {
        let late = |tid: i32, code: &str| LateInterrupt {
            cpu: 1,
            ts_ns: 900,
            late_ns: 500,
            tid,
            interrupted: Interrupted::Kernel { function: None, code_before: code.replace(' ', "") },
            stolen_ns: None,
        };
        let (halt, wait) =
            ("90 90 90 90 90 eb 07 0f 00 2d 29 91 22 00 fb f4", "00 31 d2 48 89 d1 0f 01 c8 31 c9 90 fb 0f 01 c9");
        assert!(came_in_a_halt(&late(0, halt)) && came_in_a_halt(&late(0, wait)));
        assert!(!came_in_a_halt(&late(7, halt)), "not of the idle task");
        assert!(!came_in_a_halt(&late(0, "00 90 f7 c6 00 02 00 00 74 06 fb 0f 1f 44 00 00")), "on its way out");
        assert!(!came_in_a_halt(&late(0, "fb f4")), "no record of the code");
    }

    #[test]
    fn elsewhere_it_was_not_pending() {
        assert_eq!(enabled("90 90 90 90 90 90 90 90 90 b9 00 10 00 00 31 c0"), Enabled::Earlier, "clear_page_erms");
        assert_eq!(
            enabled("00 00 48 83 ec 08 48 89 f8 e8 1f 9f b1 00 85 c0"),
            Enabled::Earlier,
            "after the result of a call"
        );
    }

    #[test]
    fn what_may_have_enabled_them_proves_nothing() {
        assert_eq!(enabled("7c 24 18 4c 8b 70 18 48 47 c3 00 e8 89 44 24 38"), Enabled::Unclear, "right after a call");
        assert_eq!(
            enabled("00 90 f7 c6 00 02 00 00 74 06 fb 48 89 c3 00 00"),
            Enabled::Unclear,
            "one instruction later"
        );
        assert_eq!(
            enabled("00 90 f7 c6 00 02 00 00 74 06 00 48 89 c3 48 cf"),
            Enabled::Unclear,
            "a return from an interrupt"
        );
        assert_eq!(
            enabled("90 90 90 90 90 90 90 90 90 b9 00 10 0f 01 c1 c0"),
            Enabled::Unclear,
            "a call of the hypervisor"
        );
        assert_eq!(enabled("90 90"), Enabled::Unclear, "too short");
        assert_eq!(enabled("zz 90 90 90 90 90 90 90 90 b9 00 10 00 00 31 c0"), Enabled::Unclear, "no digits");
        assert_eq!(enabled(""), Enabled::Unclear);
    }
}
