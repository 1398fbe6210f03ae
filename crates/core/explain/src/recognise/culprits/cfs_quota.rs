//! A control group had used up its CPU time: its tasks wait for the next period.

use super::about::{About, EXPIRED, Proof};
use crate::account::ledger::Piece;
use crate::read::event::{Event, EventKind};
use crate::recognise::case::{Case, Claim, held};
use crate::recognise::evidence::period::period_began;
use crate::replay::context::Context;
use crate::replay::thread_life::{LifeSpan, LifeState};
use archive::culprit::QuotaUsedUp;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "the thread has no real-time priority, could run and did not, and sched_cfs_period_timer (or the slack timer) expires before it is given the CPU: right before, or a tick or two when its CPU was left idle or it had lost it at once",
    events: EXPIRED,
    shows: "the quota's timer expired right before the thread got the CPU; that it was throttled has no event",
    reading: &["CFS Bandwidth Control", "Control Group v2"],
    proof: Proof::Real { at_most: Confidence::Likely },
    refuted_by: &[],
};

/// Timers that give a control group time again.
const PERIODS: [&str; 2] = ["sched_cfs_period_timer", "sched_cfs_slack_timer"];
/// The thread is given the CPU this soon, unless others of its kind have their turn first ...
const FOLLOWS_NS: i64 = 500_000;
/// ... which takes a tick or two.
const TURNS_NS: i64 = 10_000_000;
/// A thread that is throttled on its way to user space had the CPU no longer than this.
const AT_ONCE_NS: i64 = 200_000;

/// The beginning of the period that gave the thread time again, in a stretch in which it could run and did not.
fn period_of<'c>(case: &Case<'c>, delay: &LifeSpan) -> Option<Event<'c>> {
    let (start_ns, end_ns) = (delay.start_ns, delay.end_ns);
    let period = period_began(case, &PERIODS, (start_ns.max(end_ns - TURNS_NS), end_ns))?;
    let after_ns = end_ns - period.ts_ns;
    let proven =
        || after_ns * 4 <= end_ns - start_ns && (is_left_idle(case, delay) || is_preempted_at_once(case, delay));
    (after_ns <= FOLLOWS_NS || proven()).then_some(period)
}

/// Whether its CPU was idle for a good part of the stretch: no scheduler leaves a thread that it may run waiting.
fn is_left_idle(case: &Case, delay: &LifeSpan) -> bool {
    let idle = |piece: &&Piece| {
        delay.contains(piece.start_ns) && piece.cpu == delay.cpu && held(piece).is_some_and(Context::is_idle)
    };
    let idle_ns: i64 = case.pieces.iter().filter(idle).map(Piece::ns).sum();
    idle_ns * 20 >= delay.end_ns - delay.start_ns
}

/// Whether the thread lost the CPU as soon as it had it, although it could have gone on.
fn is_preempted_at_once(case: &Case, delay: &LifeSpan) -> bool {
    let before = case.life.iter().find(|span| span.end_ns == delay.start_ns);
    before.is_some_and(|span| span.state == LifeState::Running && span.end_ns - span.start_ns <= AT_ONCE_NS)
}

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, QuotaUsedUp>> {
    if !case.own_is_ordinary() {
        return None;
    }
    let delays = case.life.iter().filter(|span| span.state == LifeState::Runnable);
    let throttled: Vec<(&LifeSpan, Event)> =
        delays.filter_map(|delay| Some((delay, period_of(case, delay)?))).collect();
    let throttling =
        |piece: &Piece| throttled.iter().find(|(delay, _)| delay.contains(piece.start_ns)).map(|&(_, period)| period);
    // A throttled thread waits regardless of which task has the CPU, and of whether the host executes it.
    let pieces = case.claim_any(|piece| {
        case.kept_off(piece) && throttling(piece).is_some_and(|period| piece.start_ns <= period.ts_ns)
    })?;
    let longest = &case.pieces[*pieces.iter().max_by_key(|&&index| case.pieces[index].ns())?];
    let period = throttling(longest)?;
    let own = case.tool_threads.own_tid;
    let given = case.event(|event| {
        event.ts_ns >= period.ts_ns && matches!(event.what, EventKind::Switch { next, .. } if next == own)
    });
    let facts = QuotaUsedUp { next_period_ns: period.ts_ns.saturating_sub(case.trace.window.due_ns) };
    let events = [period].into_iter().chain(given).collect();
    Some(Claim { events, ..Claim::new(pieces, Confidence::Likely, facts) })
}
