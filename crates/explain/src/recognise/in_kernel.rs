//! Whether a task that kept the CPU from a runnable thread was in the kernel.
//!
//! The kernel asks a task to yield by a flag that every later event carries (`N`). In user space a task yields on the way out of
//! the interrupt that asked; so one that was asked and went on was in the kernel, if the CPU was executed. Where it was not
//! asked, something else let it go on: a priority that it was lent, a budget, a lost event.

use crate::read::event::{Event, EventKind, flag};
use crate::recognise::case::{Case, held};
use archive::explanation::Confidence;

/// What a switch takes, its own events included.
const SWITCHING_NS_MAX: i64 = 5_000;
/// A shorter stretch may be the way out of an interrupt.
const WAY_OUT_NS_MAX: i64 = 20_000;
/// Part of the time up to which records of the task must reach for a hypervisor to have had no good part of it.
const SEEN_PERCENT_MIN: i64 = 70;

/// What the trace shows of a task that went on.
#[derive(Debug, Clone, Copy)]
pub struct Signs<'c> {
    /// An event that carries the kernel's demand to yield.
    pub asked: Option<Event<'c>>,
    /// The last event after that which shows the task in the kernel: one that it caused itself, or an interrupt of a section
    /// with preemption disabled.
    went_on: Option<Event<'c>>,
    /// It left the CPU from inside the kernel.
    left_in_kernel: bool,
    functions: bool,
}

impl<'c> Signs<'c> {
    pub fn of(case: &Case<'c>, pieces: &[usize]) -> Self {
        let (mut asked, mut went_on, mut left_in_kernel, mut functions) = (None, None, false, false);
        for piece in pieces.iter().map(|&index| &case.pieces[index]) {
            let Some(activity) = case.trace.cpu(piece.cpu) else { continue };
            let tid = held(piece).and_then(|context| context.tid());
            for event in activity.events_between(piece.start_ns, piece.end_ns) {
                if let EventKind::Switch { prev, prev_state, .. } = event.what {
                    left_in_kernel |= Some(prev) == tid && prev_state != 0;
                    continue;
                }
                functions |= event.is_function() && Some(event.tid) == tid;
                if !event.needs_resched() {
                    continue;
                }
                asked = asked.or(Some(*event));
                if Some(event.tid) != tid {
                    continue;
                }
                let interrupted = event.flags & (flag::HARDIRQ | flag::SOFTIRQ | flag::NMI) != 0;
                let at_an_edge = event.is_interrupt_entry()
                    || matches!(event.what, EventKind::VectorExit { .. } | EventKind::IrqExit { .. });
                // At its edges an interrupt has the preemption count of what it interrupts.
                let in_a_section = at_an_edge && event.preempt_off();
                let by_itself = !interrupted && piece.end_ns - event.ts_ns > SWITCHING_NS_MAX;
                if in_a_section || by_itself {
                    went_on = Some(*event);
                }
            }
        }
        Self { asked, went_on, left_in_kernel, functions }
    }

    /// How sure it is that the task was in the kernel for the time of the pieces.
    pub fn confidence(&self, case: &Case, pieces: &[usize]) -> Confidence {
        if self.functions {
            return Confidence::Certain;
        }
        if self.asked.is_none() {
            return Confidence::Hint;
        }
        let executed =
            case.virtualised().is_none() || case.executed(pieces).is_some() || self.seen_to_the_end(case, pieces);
        let in_kernel = self.went_on.is_some() || self.left_in_kernel;
        match (executed, in_kernel) {
            (true, true) => Confidence::Certain,
            (_, false) if case.ns(pieces) <= WAY_OUT_NS_MAX => Confidence::Hint,
            (true, false) if case.virtualised().is_none() => Confidence::Certain,
            // It yields at once in user space, unless the hypervisor took the CPU within those microseconds.
            (true, false) | (false, _) => Confidence::Likely,
        }
    }

    fn seen_to_the_end(&self, case: &Case, pieces: &[usize]) -> bool {
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return false };
        let (start_ns, end_ns) = (case.pieces[*first].start_ns, case.pieces[*last].end_ns);
        self.went_on.is_some_and(|event| (event.ts_ns - start_ns) * 100 >= (end_ns - start_ns) * SEEN_PERCENT_MIN)
    }
}
