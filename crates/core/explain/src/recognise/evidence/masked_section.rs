//! Evidence, without traced functions, that a thread had interrupts masked while a timer was overdue.
//!
//! (1) A record or a stack trace of the late interrupt: it came in where a lock was released and interrupts were enabled again, so it
//! had been pending. (2) Wake-ups one after another: the thread woke the waiters of one wait queue, whose lock masks
//! interrupts until all of them are woken. Between two such wake-ups there is no time to return from one system call
//! and to enter the next.

use crate::account::interrupted_code::InterruptedCode;
use crate::account::ledger::Piece;
use crate::read::event::{Event, EventKind, flag, state};
use crate::recognise::case::Case;
use archive::culprit::{MaskedSection, WokenThreads};

/// Fewer wake-ups may follow each other by chance.
const IN_A_ROW_MIN: usize = 3;
/// Part of the delay that the wake-ups have to cover.
const COVERED_PERCENT_MIN: i64 = 80;

/// Of the thread that had the CPU in these pieces, which are the delay of a timer.
pub fn find(case: &Case, pieces: &[usize]) -> Option<MaskedSection> {
    if ends_with_interrupts_enabled(case) {
        return Some(MaskedSection::EnabledAgain);
    }
    let (first, last) = (&case.pieces[*pieces.first()?], &case.pieces[*pieces.last()?]);
    // With PREEMPT_RT the lock of a wait queue does not mask interrupts.
    let masks = case.preempt_rt() == Some(false);
    masks.then(|| woken_in_a_row(case, first, last)).flatten().map(|row| MaskedSection::WokeInARow(row.late))
}

/// The thread's work, if it woke others for all of the delay. The start of the row may lie before the delay.
pub fn woke(case: &Case, pieces: &[usize]) -> Option<WokenThreads> {
    let (first, last) = (&case.pieces[*pieces.first()?], &case.pieces[*pieces.last()?]);
    let row = woken_in_a_row(case, first, last)?;
    let name = case.names().comm(row.by);
    let are_namesakes = !name.is_empty() && row.woken.iter().all(|tid| case.names().comm(*tid) == name);
    Some(WokenThreads { count: row.woken.len(), ended: are_namesakes && has_ended(case, &row) })
}

fn has_ended(case: &Case, row: &Row) -> bool {
    let is_end = |event: &Event| match event.what {
        EventKind::Switch { prev, prev_state, .. } => {
            prev_state & state::ENDED != 0 && (prev == row.by || row.woken.contains(&prev))
        }
        _ => false,
    };
    case.trace.cpus.iter().any(|activity| activity.events_between(i64::MIN, i64::MAX).iter().any(is_end))
}

fn ends_with_interrupts_enabled(case: &Case) -> bool {
    let entry = case.wake_interrupt_entry();
    let broken_into =
        entry.and_then(|entry| InterruptedCode::find(case.trace.cpu(entry.cpu)?, case.trace, entry.ts_ns));
    matches!(broken_into, Some(InterruptedCode::Enabling(_))) && !is_delayed_elsewhere(case)
}

/// Whether the host delayed another timer interrupt of these milliseconds at least half as long where nothing masked it, and did
/// not count it as stolen: then it may as well have lengthened a short masked section.
fn is_delayed_elsewhere(case: &Case) -> bool {
    let Some(late) = case.late_record() else { return false };
    let others = case.trace.cpus.iter().flat_map(|activity| {
        activity
            .late_interrupts
            .iter()
            .filter_map(move |other| Some((other, activity.timer_interrupt_at(other.ts_ns)?, activity)))
    });
    let mut others = others.filter(|(other, ..)| (other.cpu, other.ts_ns) != (late.cpu, late.ts_ns));
    others.any(|(other, entry_ns, activity)| {
        let unmasked = InterruptedCode::find(activity, case.trace, entry_ns).is_some_and(|code| code.was_unmasked());
        unmasked
            && other.late_ns >= late.late_ns / 2
            && other.stolen_ns.is_some_and(|ns| ns < late.late_ns.unsigned_abs() / 4)
    })
}

/// A wake-up that a thread made.
#[derive(Debug, Clone, Copy)]
struct WakeUp {
    tid: i32,
    start_ns: i64,
    end_ns: i64,
}

/// Wake-ups one after another and under one lock.
struct Row {
    by: i32,
    woken: Vec<i32>,
    /// Those that ended while the timer was overdue.
    late: usize,
}

/// The threads that the thread on the CPU woke while the timer was overdue.
fn woken_in_a_row(case: &Case, first: &Piece, last: &Piece) -> Option<Row> {
    let entry = case.wake_interrupt_entry().filter(|entry| entry.cpu == first.cpu && entry.cpu == last.cpu)?;
    let activity = case.trace.cpu(entry.cpu)?;
    let wake_ups = wake_ups(activity.events_between(i64::MIN, entry.ts_ns - 1), entry.tid, own_depth(case, &entry)?);
    let mut durations: Vec<i64> = wake_ups.iter().map(|wake_up| wake_up.end_ns - wake_up.start_ns).collect();
    durations.sort_unstable();
    let gap_ns_max = durations.get(durations.len() / 2)? / 2;
    let follows = |pair: &[WakeUp]| pair[1].start_ns - pair[0].end_ns <= gap_ns_max;
    let before_the_row = wake_ups.windows(2).rposition(|pair| !follows(pair)).map_or(0, |at| at + 1);
    let row = &wake_ups[before_the_row..];
    let late = row.iter().filter(|wake_up| wake_up.end_ns > first.start_ns).count();
    let covered_ns = row.last()?.end_ns.min(last.end_ns) - row.first()?.start_ns.max(first.start_ns);
    let enough = covered_ns.saturating_mul(100) >= (last.end_ns - first.start_ns).saturating_mul(COVERED_PERCENT_MIN);
    let woken = || row.iter().map(|wake_up| wake_up.tid).collect();
    (late >= IN_A_ROW_MIN && enough).then(|| Row { by: entry.tid, woken: woken(), late })
}

/// How much deeper preemption is disabled in a wake-up than around it: by the wake-up of the measuring thread in the
/// interrupt.
fn own_depth(case: &Case, entry: &Event) -> Option<u8> {
    let waking = case.anchors.waking.filter(|waking| waking.cpu == entry.cpu)?;
    let at_once = case.trace.cpu(entry.cpu)?.events_between(waking.ts_ns, waking.ts_ns);
    let own = at_once.iter().find(|event| {
        matches!(event.what, EventKind::Waking { tid, .. } if tid == case.input.spike.tid)
            && event.flags & flag::HARDIRQ != 0
    })?;
    (own.depth & 0x0f).checked_sub(entry.depth & 0x0f).filter(|&depth| depth > 0)
}

/// The whole wake-ups by a thread since its last event that was no part of one, each with a lock held around it.
fn wake_ups(events: &[Event], by: i32, own_depth: u8) -> Vec<WakeUp> {
    let mut found = Vec::new();
    let mut open: Option<(i32, i64)> = None;
    for event in events {
        let locked = event.tid == by
            && event.flags & (flag::HARDIRQ | flag::SOFTIRQ | flag::NMI) == 0
            && event.flags & flag::IRQS_OFF != 0
            && event.depth & 0x0f > own_depth;
        match event.what {
            EventKind::Waking { tid, .. } if locked && open.is_none() => open = Some((tid, event.ts_ns)),
            EventKind::Wakeup { tid, .. } if locked && open.is_some_and(|(woken, _)| woken == tid) => {
                found.extend(open.take().map(|(_, start_ns)| WakeUp { tid, start_ns, end_ns: event.ts_ns }));
            }
            // Charges, migrations and interrupts that are sent belong to a wake-up.
            _ if locked && open.is_some() => {}
            _ => {
                found.clear();
                open = None;
            }
        }
    }
    found
}
