//! In a guest: the steal clock left time out of the charges of threads, the hypervisor's count of stolen time grew, the host reports that it did not execute this
//! CPU, or it reports that it executes one CPU at a time and the trace shows the turn of another. Without any of these:
//! the timer interrupt came late while a task computed in user space, or while the CPU was idle, where no code can mask
//! interrupts.
//!
//! The following events show where the interrupt came in: a preemptible kernel gives the CPU to the thread on the exit
//! path of the interrupt, and its switch shows whether that path led back into the kernel (`runnable+`) or to user
//! space. Everything else can be masked interrupts as well as a hypervisor: a section with interrupts off need not hold
//! a lock.

use super::about::{About, Proof};
use crate::account::interrupted_code::InterruptedCode;
use crate::account::vcpu_absences::{AbsenceCause, PlacedAbsence};
use crate::read::event::{Event, EventKind, IDLE_EXIT};
use crate::recognise::case::{Case, Claim, held};
use crate::recognise::evidence::console;
use crate::recognise::evidence::idle_time::{LEAVING_NS_MAX, is_idle_time};
use crate::recognise::evidence::late_in_task::is_late_in_task;
use crate::recognise::functions::proves_masked;
use crate::replay::context::Context;
use archive::absence::Absence;
use archive::culprit::{AbsenceSign, CpuAbsence, ForeignText, ObservedSpan, Stolen};
use archive::explanation::Confidence;
use std::iter;

pub const ABOUT: About = About {
    recognised: "the kernel charged the threads on this CPU less than passed (sched_stat_runtime, where the kernel has a steal clock), and the CPU recorded nothing meanwhile; or the hypervisor's count of stolen time, which the kernel read as the interrupt came in, grew meanwhile; or that is so of another CPU, for which the task on this one waited with interrupts masked; or the host saw that it did not execute this CPU of the virtual machine, and the trace of the guest has no event there; or the emulator executes all CPUs in one thread, and another one recorded events meanwhile; or, where nobody looked from outside, in a guest whose kernel can be preempted: the timer interrupt comes late on top of a task, with preemption enabled, and the switch that follows shows that it came in while the task was in user space; or an idle CPU, which waits with interrupts on, gets it more than 1 ms late; a hint where the timer interrupt was 5 ms late or more on top of a task and the machine lost about as much since the snapshot before, at an unknown instant",
    events: &[],
    shows: "the steal clock by sched_stat_runtime, the hypervisor's count of stolen time, or the host's own record; else a late timer on a CPU that cannot have masked interrupts",
    reading: &["The KVM halt polling system"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[],
};

/// A shorter delay may be a short masked section of the kernel's entry code.
const DELAY_NS_MIN: i64 = 50_000;
/// The kernel counts steal time in steps of 10 ms: below half a step the count shows nothing.
const COUNTED_NS_MIN: i64 = 5_000_000;
/// The rest may still be in the step that is not full.
const COUNTED_PERCENT_MIN: i64 = 80;
/// Maximum time from the end of another CPU's absence to the end of the wait for it: it has to release the lock.
const RELEASED_NS_MAX: i64 = 100_000;
/// Part of the delay that the absence has to cover.
const COVERED_PERCENT_MIN: i64 = 80;
/// Preemption models in which a system call can be preempted.
const PREEMPTIBLE: &[&str] = &["full", "lazy", "preempt_rt"];

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, Stolen>> {
    let found = observed(case).or_else(|| guessed(case, case.virtualised()?))?;
    Some(Claim { evidence: case.steal_time().into_iter().collect(), ..found })
}

/// Where nobody looked from outside.
fn guessed<'c>(case: &Case<'c>, host: &str) -> Option<Claim<'c, Stolen>> {
    waited_for_another_cpu(case, host)
        .or_else(|| on_a_task(case, host))
        .or_else(|| on_an_idle_cpu(case, host))
        .or_else(|| counted(case, host))
}

/// The machine lost as much to its hypervisor as the timer was late, at an unknown instant since the snapshot before.
fn counted<'c>(case: &Case<'c>, host: &str) -> Option<Claim<'c, Stolen>> {
    let pieces = case.claim(is_late_in_task)?;
    let counted_ns = i64::try_from(case.steal_since_snapshot_ns()?).unwrap_or(i64::MAX);
    let ns = case.ns(&pieces);
    let enough = ns >= COUNTED_NS_MIN && counted_ns >= ns / 100 * COUNTED_PERCENT_MIN;
    let known_better = proves_masked(case, &pieces)
        || case.charged_in_full(&pieces).is_some()
        || case.counts_no_steal(&pieces)
        || console::is_written(case);
    if !enough || known_better {
        return None;
    }
    let facts = Stolen::Counted { host: host.into(), who: case.holders(&pieces), counted_ns };
    let events = case.wake_interrupt_entry().into_iter().collect();
    Some(Claim { events, ..Claim::new(pieces, Confidence::Hint, facts) })
}

fn observed<'c>(case: &Case<'c>) -> Option<Claim<'c, Stolen>> {
    let pieces = case.claim_not_executed()?;
    let is_in = |absence: &&PlacedAbsence| {
        let inside = |index: &usize| {
            let piece = &case.pieces[*index];
            piece.cpu == absence.cpu && piece.start_ns < absence.end_ns && absence.start_ns < piece.end_ns
        };
        pieces.iter().any(inside)
    };
    let mut absences: Vec<&PlacedAbsence> = case.absences.iter().filter(is_in).collect();
    absences.sort_by_key(|absence| std::cmp::Reverse(absence.end_ns - absence.start_ns));
    let (longest, others) = absences.split_first()?;
    let facts = Stolen::Observed {
        host: case.virtualised().map(ForeignText::from),
        longest: named(case, longest),
        others: others.iter().map(|absence| named(case, absence)).collect(),
    };
    Some(Claim::new(pieces, longest.confidence, facts))
}

/// The task that had the CPU waited with interrupts masked for as long as the hypervisor did not run another CPU: for a lock whose
/// holder is there.
fn waited_for_another_cpu<'c>(case: &Case<'c>, host: &str) -> Option<Claim<'c, Stolen>> {
    let pieces = case.claim(is_late_in_task)?;
    let entry = case.wake_interrupt_entry()?;
    let code = InterruptedCode::find(case.trace.cpu(entry.cpu)?, case.trace, entry.ts_ns)?;
    if !matches!(code, InterruptedCode::Enabling(_)) || case.ns(&pieces) < DELAY_NS_MIN {
        return None;
    }
    let start_ns = case.pieces[*pieces.first()?].start_ns;
    let covers = |absence: &&PlacedAbsence| {
        let covered_ns = absence.end_ns.min(entry.ts_ns) - absence.start_ns.max(start_ns);
        absence.cpu != entry.cpu
            && (0..=RELEASED_NS_MAX).contains(&entry.ts_ns.saturating_sub(absence.end_ns))
            && covered_ns.saturating_mul(100) >= (entry.ts_ns - start_ns).saturating_mul(COVERED_PERCENT_MIN)
    };
    let absence = case.absences.iter().find(covers)?;
    let facts = Stolen::OnAnotherCpu { host: host.into(), who: case.holders(&pieces), absence: named(case, absence) };
    Some(Claim { events: vec![entry], ..Claim::new(pieces, Confidence::Likely, facts) })
}

/// An absence with its instants relative to due.
fn named(case: &Case, absence: &PlacedAbsence) -> CpuAbsence {
    let due_ns = case.trace.window.due_ns;
    let span = |span: Absence| ObservedSpan {
        start_ns: span.start_ns.saturating_sub(due_ns),
        end_ns: span.end_ns.saturating_sub(due_ns),
        slack_ns: span.slack_ns,
    };
    let shown_by = match absence.cause {
        AbsenceCause::EmulatorStopped(seen) => AbsenceSign::EmulatorStopped(span(seen)),
        AbsenceCause::Preempted(seen) => AbsenceSign::Preempted(span(seen)),
        AbsenceCause::StealClock { charged, more: true } => {
            AbsenceSign::StealClockOfOthers { missing_ns: charged.missing_ns() }
        }
        AbsenceCause::StealClock { charged, more: false } => AbsenceSign::StealClock {
            thread: case.names().task_name(charged.tid),
            start_ns: charged.start_ns.saturating_sub(due_ns),
            end_ns: charged.end_ns.saturating_sub(due_ns),
            ran_ns: charged.ran_ns,
        },
        AbsenceCause::StealCount { start_ns, end_ns, stolen_ns } => AbsenceSign::StealCount {
            start_ns: start_ns.saturating_sub(due_ns),
            end_ns: end_ns.saturating_sub(due_ns),
            stolen_ns,
        },
        AbsenceCause::OtherCpuExecuted { of, events } => AbsenceSign::OtherCpuExecuted { of, events },
    };
    CpuAbsence {
        cpu: absence.cpu,
        start_ns: absence.start_ns.saturating_sub(due_ns),
        end_ns: absence.end_ns.saturating_sub(due_ns),
        shown_by,
    }
}

fn on_a_task<'c>(case: &Case<'c>, host: &str) -> Option<Claim<'c, Stolen>> {
    let pieces = case.claim(is_late_in_task)?;
    let entry = case.wake_interrupt_entry()?;
    if entry.preempt_off() || case.ns(&pieces) < DELAY_NS_MIN {
        return None;
    }
    let left = left_from_user_space(case, &pieces, &entry)?;
    let facts = Stolen::InUserSpace { host: host.into(), who: case.holders(&pieces) };
    Some(Claim { events: vec![entry, left], ..Claim::new(pieces, Confidence::Likely, facts) })
}

fn on_an_idle_cpu<'c>(case: &Case<'c>, host: &str) -> Option<Claim<'c, Stolen>> {
    let pieces = case.claim(is_idle_time)?;
    if case.ns(&pieces) <= LEAVING_NS_MAX {
        return None;
    }
    let left = case.event(|event| event.cpu == case.cpu() && event.what == EventKind::Idle { state: IDLE_EXIT });
    // A thread that a task woke did not wait for the interrupt of its timer alone.
    let entry = case.wake_interrupt_entry()?;
    // While the CPU leaves idle it executes the kernel, which may mask interrupts, as during any task.
    let sleeps = |index: &usize| !matches!(held(&case.pieces[*index]), Some(Context::Idle { state: IDLE_EXIT }));
    let asleep_ns = case.ns(&pieces.iter().copied().filter(sleeps).collect::<Vec<_>>());
    let leaving = asleep_ns <= LEAVING_NS_MAX || asleep_ns * 2 < case.ns(&pieces);
    let (confidence, facts) = match leaving {
        true => (Confidence::Hint, Stolen::LeavingIdle { host: host.into(), cpu: case.cpu() }),
        false => (Confidence::Likely, Stolen::InIdle { host: host.into() }),
    };
    let events = iter::once(entry).chain(left).collect();
    Some(Claim { events, ..Claim::new(pieces, confidence, facts) })
}

/// The switch away from the interrupted task, if it shows that the interrupt came in while the task was in user space.
fn left_from_user_space<'c>(case: &Case<'c>, pieces: &[usize], entry: &Event) -> Option<Event<'c>> {
    let model = case.input.environment?.preemption.as_deref()?;
    let last = pieces.iter().map(|&index| &case.pieces[index]).max_by_key(|piece| piece.end_ns)?;
    let task = held(last)?.tid()?;
    let switch = case.event(|event| {
        event.cpu == entry.cpu && event.ts_ns > entry.ts_ns && matches!(event.what, EventKind::Switch { .. })
    })?;
    let EventKind::Switch { prev, prev_state: 0, .. } = switch.what else { return None };
    (PREEMPTIBLE.contains(&model) && prev == task).then_some(switch)
}
