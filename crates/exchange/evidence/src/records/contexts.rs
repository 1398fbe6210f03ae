//! The interrupts and softirqs that are open on each CPU, for forms without a column of flags.

use super::event::is_vector;
use archive::trace_event::flag;
use std::collections::BTreeMap;

/// The open contexts of one CPU.
#[derive(Debug, Default)]
struct Open {
    interrupts: u32,
    softirq: bool,
}

#[derive(Debug, Default)]
pub struct Contexts {
    by_cpu: BTreeMap<u32, Open>,
}

impl Contexts {
    /// The flags of the next event, by the contexts that it is in. Events of scheduler and timers are recorded with interrupts off.
    pub fn flags(&mut self, cpu: u32, name: &str) -> u8 {
        let open = self.by_cpu.entry(cpu).or_default();
        let was = (open.interrupts > 0, open.softirq);
        let is_interrupt = name.starts_with("irq_handler_") || is_vector(name);
        match name {
            "softirq_entry" => open.softirq = true,
            "softirq_exit" => open.softirq = false,
            "sched_switch" => *open = Open::default(),
            _ if is_interrupt && name.ends_with("_entry") => open.interrupts = open.interrupts.saturating_add(1),
            _ if is_interrupt => open.interrupts = open.interrupts.saturating_sub(1),
            _ => {}
        }
        let masked = name.starts_with("sched_") || name.starts_with("hrtimer_");
        let interrupted = was.0 || open.interrupts > 0;
        let in_softirq = !interrupted && (was.1 || open.softirq);
        (if interrupted { flag::HARDIRQ } else { 0 })
            | (if in_softirq { flag::SOFTIRQ } else { 0 })
            | (if interrupted || masked { flag::IRQS_OFF } else { 0 })
    }
}
