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
use super::idle_exit::{LEAVING_NS_MAX, is_idle_time};
use crate::account::interrupted_code::InterruptedCode;
use crate::account::vcpu_absences::{AbsenceCause, PlacedAbsence};
use crate::read::event::{Event, EventKind, IDLE_EXIT};
use crate::read::named_event::relative;
use crate::recognise::case::{Case, held};
use crate::recognise::functions::proves_masked;
use crate::recognise::stated::Claim;
use crate::replay::context::Context;
use archive::explanation::Confidence;
use std::iter;
use words::figures::latency;

pub const ABOUT: About = About {
    recognised: "the kernel charged the threads on this CPU less than passed (sched_stat_runtime, where the kernel has a steal clock), and the CPU recorded nothing meanwhile; or the hypervisor's count of stolen time, which the kernel read as the interrupt came in, grew meanwhile; or that is so of another CPU, for which the task on this one waited with interrupts masked; or the host saw that it did not execute this CPU of the virtual machine, and the trace of the guest has no event there; or the emulator executes all CPUs in one thread, and another one recorded events meanwhile; or, where nobody looked from outside, in a guest whose kernel can be preempted: the timer interrupt comes late on top of a task, with preemption enabled, and the switch that follows shows that it came in while the task was in user space; or an idle CPU, which waits with interrupts on, gets it more than 1 ms late; a hint where the timer interrupt was 5 ms late or more on top of a task and the machine lost about as much since the snapshot before, at an unknown instant",
    events: &[],
    shows: "the steal clock by sched_stat_runtime, the hypervisor's count of stolen time, or the host's own record; else a late timer on a CPU that cannot have masked interrupts",
    at_most: Confidence::Certain,
    reading: &["The KVM halt polling system"],
    proof: Proof::Real,
};

const CONFIRM: &str = "on the host: perf kvm stat, or trace kvm:kvm_exit and kvm:kvm_entry of this virtual CPU";
const FIX: &str =
    "on the host: pin virtual CPUs one to one, isolate those CPUs, SCHED_FIFO for their threads, no overcommitment";
const ABSENCES_SHOWN: usize = 3;
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

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    if let Some(seen) = seen_from_outside(case) {
        return Some(seen);
    }
    let host = case.virtualised()?;
    if let Some(waited) = waited_for_another_cpu(case, host) {
        return Some(waited);
    }
    on_a_task(case, host).or_else(|| on_an_idle_cpu(case, host)).or_else(|| counted(case, host))
}

/// The machine lost as much to its hypervisor as the timer was late, at an unknown instant since the snapshot before.
fn counted<'c>(case: &Case<'c>, host: &str) -> Option<Claim<'c>> {
    let pieces = case.claim(super::irqs_off::is_late_in_task)?;
    let counted_ns = i64::try_from(case.steal_since_snapshot_ns()?).unwrap_or(i64::MAX);
    let ns = case.ns(&pieces);
    let enough = ns >= COUNTED_NS_MIN && counted_ns >= ns / 100 * COUNTED_PERCENT_MIN;
    let known_better = proves_masked(case, &pieces)
        || case.charged_in_full(&pieces).is_some()
        || case.counts_no_steal(&pieces)
        || super::printk::look(case).is_some();
    if !enough || known_better {
        return None;
    }
    Some(Claim {
        confidence: Confidence::Hint,
        sentence: format!(
            "the timer interrupt was late while {} ran ({}): probably the hypervisor ({host}) did not run this CPU, as it took {} \
             from this machine since the snapshot before; the trace does not show when",
            case.culprits(&pieces),
            case.share(&pieces),
            latency(counted_ns)
        ),
        evidence: case.steal_line().into_iter().collect(),
        ..claim(pieces, case.wake_interrupt_entry().into_iter().collect())
    })
}

fn seen_from_outside<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
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
    let longest = absences.first()?;
    let share = case.share(&pieces);
    let cpu = longest.cpu;
    let (sentence, confirm, fix) = match longest.cause {
        AbsenceCause::EmulatorStopped(_) => (
            format!("the host stopped the emulator, so CPU {cpu} did not run ({share})"),
            CONFIRM,
            "on the host: do not stop the emulator during a measurement (SIGSTOP, a debugger, a frozen control group, suspend)",
        ),
        AbsenceCause::Preempted(_) => {
            let sentence =
                format!("the host did not run CPU {cpu} of this machine: other tasks had the host's CPUs ({share})");
            (sentence, CONFIRM, FIX)
        }
        AbsenceCause::StealClock { .. } | AbsenceCause::StealCount { .. } => {
            let host = case.virtualised().map_or_else(String::new, |host| format!(" ({host})"));
            let sentence = format!("the hypervisor{host} did not run CPU {cpu} ({share}): it ran something else");
            (sentence, CONFIRM, FIX)
        }
        AbsenceCause::OtherCpuExecuted { of, .. } => (
            format!(
                "CPU {cpu} did not run ({share}): the emulator runs all CPUs in one thread, and was running CPU {of}"
            ),
            "measure again on a machine with one CPU",
            "an emulator with one thread per CPU (`accel = \"tcg\"`), or a machine with one CPU",
        ),
    };
    let due_ns = case.trace.window.due_ns;
    let lines = absences.iter().take(ABSENCES_SHOWN).map(|absence| line(case, absence, due_ns));
    let evidence: Vec<String> = lines.chain(case.steal_line()).collect();
    let confidence = longest.confidence;
    let (confirm, fix) = (confirm.into(), fix.into());
    Some(Claim { confidence, sentence, evidence, confirm, fix, ..claim(pieces, Vec::new()) })
}

/// The task that had the CPU waited with interrupts masked for as long as the hypervisor did not run another CPU: for a lock whose
/// holder is there.
fn waited_for_another_cpu<'c>(case: &Case<'c>, host: &str) -> Option<Claim<'c>> {
    let pieces = case.claim(super::irqs_off::is_late_in_task)?;
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
    Some(Claim {
        sentence: format!(
            "the hypervisor ({host}) did not run CPU {}, and {} waited for that CPU with interrupts masked ({}): most likely for a \
             lock that is held there",
            absence.cpu,
            case.culprits(&pieces),
            case.share(&pieces)
        ),
        evidence: [line(case, absence, case.trace.window.due_ns)].into_iter().chain(case.steal_line()).collect(),
        ..claim(pieces, vec![entry])
    })
}

fn line(case: &Case, absence: &PlacedAbsence, due_ns: i64) -> String {
    let cpu = absence.cpu;
    let (what, span) = match absence.cause {
        AbsenceCause::EmulatorStopped(span) => ("was stopped", span),
        AbsenceCause::Preempted(span) => ("waited for a CPU of the host", span),
        AbsenceCause::StealClock { charged, more: true } => {
            return format!(
                "from {} to {} CPU {cpu} recorded nothing; the steal clock left out all that it could, {}, since another CPU last \
                 read the clock of this one",
                relative(absence.start_ns, due_ns),
                relative(absence.end_ns, due_ns),
                latency(charged.missing_ns()),
            );
        }
        AbsenceCause::StealClock { charged, more: false } => {
            return format!(
                "from {} to {} {} passed on CPU {cpu} and {} was charged {}: the steal clock left out {}",
                relative(charged.start_ns, due_ns),
                relative(charged.end_ns, due_ns),
                latency(charged.end_ns - charged.start_ns),
                case.names().task(charged.tid),
                latency(charged.ran_ns),
                latency(charged.missing_ns())
            );
        }
        AbsenceCause::StealCount { start_ns, end_ns, stolen_ns } => {
            return format!(
                "from {} to {} the hypervisor counts {} as stolen from CPU {cpu}, which recorded nothing for {} of it",
                relative(start_ns, due_ns),
                relative(end_ns, due_ns),
                latency(stolen_ns),
                latency(absence.end_ns - absence.start_ns)
            );
        }
        AbsenceCause::OtherCpuExecuted { of, events } => {
            let (from, to) = (relative(absence.start_ns, due_ns), relative(absence.end_ns, due_ns));
            return format!(
                "CPU {of} recorded {events} events from {from} to {to}, CPU {cpu} none: only one runs at a time"
            );
        }
    };
    format!(
        "observed on the host: CPU {cpu} {what} for {}, from {} to {}, each to within {}",
        latency(span.end_ns - span.start_ns),
        relative(span.start_ns, due_ns),
        relative(span.end_ns, due_ns),
        latency(span.slack_ns)
    )
}

fn on_a_task<'c>(case: &Case<'c>, host: &str) -> Option<Claim<'c>> {
    let pieces = case.claim(super::irqs_off::is_late_in_task)?;
    let entry = case.wake_interrupt_entry()?;
    if entry.preempt_off() || case.ns(&pieces) < DELAY_NS_MIN {
        return None;
    }
    let left = left_from_user_space(case, &pieces, &entry)?;
    Some(Claim {
        sentence: format!(
            "the hypervisor ({host}) did not run this CPU, or delayed the timer interrupt, while it ran {} ({})",
            case.culprits(&pieces),
            case.share(&pieces)
        ),
        evidence: evidence(
            case,
            "the interrupt arrived while the task was in user space, where interrupts cannot be masked: it was switched out on \
             its return there, not inside the kernel",
        ),
        ..claim(pieces, vec![entry, left])
    })
}

fn on_an_idle_cpu<'c>(case: &Case<'c>, host: &str) -> Option<Claim<'c>> {
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
    if asleep_ns <= LEAVING_NS_MAX || asleep_ns * 2 < case.ns(&pieces) {
        return Some(Claim {
            confidence: Confidence::Hint,
            sentence: format!(
                "CPU {} was leaving idle ({}): the hypervisor ({host}) did not run it, or the kernel ran there with \
                 interrupts masked; the trace does not show which",
                case.cpu(),
                case.share(&pieces)
            ),
            evidence: case.steal_line().into_iter().collect(),
            ..claim(pieces, iter::once(entry).chain(left).collect())
        });
    }
    Some(Claim {
        sentence: format!(
            "the hypervisor ({host}) did not run this CPU, or delayed the timer interrupt, while it was idle ({})",
            case.share(&pieces)
        ),
        evidence: evidence(case, "an idle CPU waits with interrupts enabled: nothing in the guest can have delayed it"),
        ..claim(pieces, iter::once(entry).chain(left).collect())
    })
}

fn claim<'c>(pieces: Vec<usize>, events: Vec<Event<'c>>) -> Claim<'c> {
    Claim {
        pieces,
        events,
        confidence: Confidence::Likely,
        sentence: String::new(),
        evidence: Vec::new(),
        confirm: CONFIRM.into(),
        fix: FIX.into(),
    }
}

fn evidence(case: &Case, why: &str) -> Vec<String> {
    [why.to_owned()].into_iter().chain(case.steal_line()).collect()
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
