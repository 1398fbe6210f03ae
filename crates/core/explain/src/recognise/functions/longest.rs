//! The longest masked stretches of a CPU and the lock held longest, computed on first use: each requires a pass over all
//! events.

use super::locks;
use super::masked::{self, Masked, Masking};
use crate::replay::trace::Trace;
use std::cell::OnceCell;

/// Of one CPU between due and seen.
#[derive(Debug)]
pub struct Longest<'t> {
    trace: &'t Trace<'t>,
    cpu: u32,
    interrupts: OnceCell<Option<Masked>>,
    preemption: OnceCell<Option<Masked>>,
    lock: OnceCell<Option<locks::Held>>,
}

impl<'t> Longest<'t> {
    pub fn new(trace: &'t Trace<'t>, cpu: u32) -> Self {
        Self { trace, cpu, interrupts: OnceCell::new(), preemption: OnceCell::new(), lock: OnceCell::new() }
    }

    /// The longest masked stretch that overlaps the wake-up.
    pub fn masked(&self, masking: Masking) -> Option<&Masked> {
        let cell = match masking {
            Masking::Interrupts => &self.interrupts,
            Masking::Preemption => &self.preemption,
        };
        cell.get_or_init(|| self.find_masked(masking)).as_ref()
    }

    /// The lock that was held for the longest part of the wake-up.
    pub fn lock(&self) -> Option<&locks::Held> {
        let find = || locks::longest(self.trace.cpu(self.cpu)?, self.trace);
        self.lock.get_or_init(find).as_ref()
    }

    fn find_masked(&self, masking: Masking) -> Option<Masked> {
        let activity = self.trace.cpu(self.cpu)?;
        if !activity.events.iter().any(|event| event.is_function()) {
            return None;
        }
        let window = self.trace.window;
        let found = masked::stretches(activity, &self.trace.names, masking).into_iter();
        let overlapping = found.filter(|masked| masked.end_ns > window.due_ns && masked.start_ns < window.seen_ns);
        overlapping.max_by_key(|masked| (masked.ns(), std::cmp::Reverse(masked.start_ns)))
    }
}
