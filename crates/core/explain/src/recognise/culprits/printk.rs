//! The kernel writes to a console.
//!
//! PREEMPT_RT kernels have threads for it. All others write in the context of the code that logs, with preemption
//! disabled and interrupts masked, one message after the other: the trace has no function of it, only the event of the
//! message.

use super::about::{About, Proof};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::console::{WRITERS, message_before, written_at_once};
use crate::recognise::evidence::late_in_task::is_late_in_task;
use archive::culprit::Console;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "a printing thread (pr/NAME) has the CPU while the thread could run, or a *console_write function holds it; or a task had a message (printk:console), recorded no event of its own after it, and the section that began there delayed the timer interrupt or kept the CPU from the thread",
    events: &["console|sched_switch"],
    shows: "the printing thread by name, or a message right before the interrupts came late",
    reading: &["Message logging with printk", "The kernel's command-line parameters"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, Console>> {
    let by_name = WRITERS.look(case).map(|claim| claim.map(Console::Named));
    by_name.or_else(|| at_once(case))
}

/// A task that logged a message and wrote it, up to the interrupt that it had masked meanwhile: the timer interrupt of the wake-up, or
/// the next one, where the wake-up came between the message and the writing.
fn at_once<'c>(case: &Case<'c>) -> Option<Claim<'c, Console>> {
    let pieces = written_at_once(case)?;
    let longest = pieces.iter().max_by_key(|&&index| case.pieces[index].ns())?;
    let message = message_before(case, &case.pieces[*longest])?;
    let delayed_timer = is_late_in_task(&case.pieces[*longest]);
    let facts = Console::AtOnce { who: case.holders(&pieces), delayed_timer };
    Some(Claim { events: vec![message], ..Claim::new(pieces, Confidence::Likely, facts) })
}
