//! The timer interrupt came late while a task ran: the task had interrupts masked, as far as the trace can show.
//!
//! A lock still held where the interrupt finally came in supports it. The interrupt flag of the events in between
//! proves nothing, because the scheduler's and the timers' own events are always recorded with interrupts off. The flag
//! of functions does: a function tracer proves it. So does, almost, a record of the late interrupt, a stack trace or a row of wake-ups, see
//! [`crate::recognise::evidence::masked_section`]: a host can only have lengthened such a section. In a guest nothing else does: a
//! lock only shows that the interrupt came in inside a critical section, and a task that was charged for all of the time
//! need not have run all of it.

use super::about::{About, Proof};
use crate::account::vcpu_absences::Charged;
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::late_in_task::is_late_in_task;
use crate::recognise::evidence::masked_section;
use crate::recognise::functions::proves_masked;
use archive::culprit::{ForeignText, FullCharge, KernelName, LateInTask, MaskedSection, WhyLate};
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "the timer interrupt comes late on top of a task; above a hint only in virtual time, where functions, the kernel's record of the late interrupt, a stack trace (--stack) or a row of wake-ups show that interrupts were masked, and on bare metal with a lock still held where it comes in",
    events: &["local_timer_entry|hrtimer_expire_entry"],
    shows: "a timer that was due came late on top of a task; that interrupts were masked only functions, the place that the interrupt broke into, or virtual time show",
    reading: &["ftrace - Function Tracer", "Lock types and their rules"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, LateInTask>> {
    let pieces = case.claim(is_late_in_task)?;
    let signs = Signs::of(case, &pieces);
    let (why, confidence) = signs.decide(case, &pieces);
    let further_sign = match why {
        WhyLate::Section(_) => None,
        _ => signs.section,
    };
    let facts = LateInTask {
        who: case.holders(&pieces),
        why,
        further_sign,
        woke: masked_section::woke(case, &pieces),
        locked: signs.locked,
        came_in: case.interrupted_function().map(KernelName::from),
        is_recorded: case.late_record().is_some(),
        recorded_closely: signs.recorded_closely && signs.section.is_some() && !case.bare_metal(),
        charged: signs.charged.map(|charged| full_charge(case, &charged)),
        stolen_ns: signs.counts_no_steal.then(|| stolen_ns(case)),
    };
    let events = case.wake_interrupt_entry().into_iter().collect();
    let evidence = case.steal_time().into_iter().collect();
    Some(Claim { events, evidence, ..Claim::new(pieces, confidence, facts) })
}

/// The evidence that the task had interrupts masked.
struct Signs {
    locked: bool,
    charged: Option<Charged>,
    counts_no_steal: bool,
    recorded_closely: bool,
    section: Option<MaskedSection>,
}

impl Signs {
    fn of(case: &Case, pieces: &[usize]) -> Self {
        Self {
            locked: case.wake_interrupt_entry().is_some_and(|entry| entry.preempt_off()),
            charged: case.charged_in_full(pieces),
            counts_no_steal: case.counts_no_steal(pieces),
            recorded_closely: case.is_recorded_closely(pieces),
            section: masked_section::find(case, pieces),
        }
    }

    /// Whether the hypervisor did not preempt the CPU.
    fn was_executed(&self) -> bool {
        self.charged.is_some() || self.counts_no_steal
    }

    fn decide(&self, case: &Case, pieces: &[usize]) -> (WhyLate, Confidence) {
        let section = self.section.filter(|_| self.was_executed() || self.recorded_closely || case.bare_metal());
        let host = case.virtualised().map(ForeignText::from);
        match host {
            None if proves_masked(case, pieces) && case.bare_metal() => (WhyLate::Functions, Confidence::Certain),
            // A hypervisor could still have delayed an interrupt during a short moment with interrupts enabled.
            _ if proves_masked(case, pieces) => (WhyLate::Functions, Confidence::Likely),
            None if case.in_virtual_time() => (WhyLate::VirtualTime, Confidence::Certain),
            _ if let Some(section) = section => (WhyLate::Section(section), Confidence::Likely),
            None if case.bare_metal() && self.locked => (WhyLate::Lock, Confidence::Likely),
            None if case.bare_metal() => (WhyLate::MaskedOrFirmware, Confidence::Hint),
            // A host that handles an exit or a page fault of the guest charges the task as if it ran.
            Some(host) if self.was_executed() => (WhyLate::MaskedOrHostServed { host }, Confidence::Hint),
            Some(host) => (WhyLate::MaskedOrHostDelayed { host }, Confidence::Hint),
            None => (WhyLate::MaskedOrOutside, Confidence::Hint),
        }
    }
}

fn full_charge(case: &Case, charged: &Charged) -> FullCharge {
    let due_ns = case.trace.window.due_ns;
    FullCharge {
        start_ns: charged.start_ns.saturating_sub(due_ns),
        end_ns: charged.end_ns.saturating_sub(due_ns),
        ran_ns: charged.ran_ns,
    }
}

/// The steal time that the hypervisor counts while the interrupt was late.
fn stolen_ns(case: &Case) -> i64 {
    let counted = case.late_record().and_then(|late| late.stolen_ns);
    counted.and_then(|ns| i64::try_from(ns).ok()).unwrap_or_default()
}
