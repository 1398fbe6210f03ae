//! Whether a task that kept the CPU from a runnable thread was in the kernel.
//!
//! The kernel requests a task to yield by a flag that every later event contains (`N`). In user space a task yields on
//! the exit path of the interrupt that set it; so a task that continued with the flag set was in the kernel, if the CPU
//! was executed. Without the flag, something else let it continue: an inherited priority, a budget, a lost event.

use crate::read::event::{Event, EventKind, flag};
use crate::recognise::case::{Case, held};
use archive::explanation::Confidence;

/// Duration of a switch, including its own events.
const SWITCHING_NS_MAX: i64 = 5_000;
/// A shorter stretch may be the exit path of an interrupt.
const WAY_OUT_NS_MAX: i64 = 20_000;
/// After one interrupt the host may have taken the CPU on the way out.
const OUTLASTED_MIN: usize = 2;

/// Evidence in the trace about a task that continued.
#[derive(Debug, Clone, Copy)]
pub struct Signs<'c> {
    /// An event with the kernel's request to yield.
    pub asked: Option<Event<'c>>,
    /// A later event shows the task in the kernel: one that it caused itself, or an interrupt of a section with
    /// preemption disabled.
    went_on: bool,
    /// It left the CPU from inside the kernel.
    left_in_kernel: bool,
    functions: bool,
    /// Interrupts after which it continued, although the kernel had asked it to yield.
    outlasted: usize,
}

impl<'c> Signs<'c> {
    pub fn of(case: &Case<'c>, pieces: &[usize]) -> Self {
        let (mut asked, mut went_on, mut left_in_kernel, mut functions) = (None, false, false, false);
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
                // At its start and end an interrupt has the preemption count of the interrupted code.
                let in_a_section = at_an_edge && event.preempt_off();
                let by_itself = !interrupted && piece.end_ns - event.ts_ns > SWITCHING_NS_MAX;
                if in_a_section || by_itself {
                    went_on = true;
                }
            }
        }
        let outlasted = outlasted(case, pieces);
        Self { asked, went_on, left_in_kernel, functions, outlasted }
    }

    /// Confidence that the task was in the kernel for the time of the pieces. In a guest the host may have taken an
    /// unrecorded part of it, even from a task that was charged for all of it.
    pub fn confidence(&self, case: &Case, pieces: &[usize]) -> Confidence {
        let seen = case.is_seen_throughout(pieces);
        let shown = if seen { Confidence::Certain } else { Confidence::Likely };
        if self.functions {
            return shown;
        }
        if self.asked.is_none() || case.lacks_a_tick(pieces) {
            return Confidence::Hint;
        }
        match self.went_on || self.left_in_kernel {
            true => shown,
            false if case.ns(pieces) <= WAY_OUT_NS_MAX => Confidence::Hint,
            false if case.virtualised().is_none() => Confidence::Certain,
            // In user space it yields at once, unless the host takes the CPU within those microseconds: not after each of
            // several interrupts.
            false if self.outlasted >= OUTLASTED_MIN => Confidence::Likely,
            // A steal clock would have left out what the host took.
            false if case.has_steal_clock() && !seen && case.charged_in_full(pieces).is_none() => Confidence::Hint,
            false => Confidence::Likely,
        }
    }
}

/// Exits of interrupts with the request to yield after which the task of a piece went on for longer than the way out takes.
fn outlasted(case: &Case, pieces: &[usize]) -> usize {
    let went_on = |index: &&usize| {
        let piece = &case.pieces[**index];
        let tid = held(piece).and_then(|context| context.tid());
        let before =
            case.trace.cpu(piece.cpu).and_then(|activity| activity.events_between(i64::MIN, piece.start_ns).last());
        let exit = before.filter(|event| {
            matches!(
                event.what,
                EventKind::VectorExit { .. } | EventKind::IrqExit { .. } | EventKind::SoftirqExit { .. }
            )
        });
        exit.is_some_and(|exit| exit.needs_resched() && Some(exit.tid) == tid) && piece.ns() > WAY_OUT_NS_MAX
    };
    // A switch to another task is a choice of the scheduler: the one before did yield.
    let mut tids: Vec<i32> = pieces.iter().filter_map(|&index| held(&case.pieces[index])?.tid()).collect();
    tids.dedup();
    if tids.len() > 1 { 0 } else { pieces.iter().filter(went_on).count() }
}
