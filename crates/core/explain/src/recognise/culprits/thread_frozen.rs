//! The measuring thread was frozen: the freezer of a control group, or a suspend, kept it from running and from being woken.
//!
//! Proof is one of these. `cgroup_unfreeze` by the task that then wakes the thread. Its timer's turn came, woke nobody, and a task
//! woke it later: the kernel freezes a sleeping thread in place, and a timer does not wake a frozen one. Or its timer was due during an
//! uninterruptible sleep and did not expire: the freeze had interrupted the sleep that the timer ends. Or it slept without having
//! started a timer, until a task woke it, which the loop of a measuring thread never does of its own accord; that a stop or a
//! debugger did this, and not the freezer, is excluded by the state in which it left the CPU.

use super::about::{About, Proof};
use crate::read::event::{Event, EventKind, flag};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::interventions::{interventions, is_stop};
use crate::replay::thread_life::{LifeSpan, LifeState};
use archive::culprit::{FreezeSign, Frozen};
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "the thread's timer expires and wakes no thread until a task does so later; or the timer is due during an uninterruptible sleep and does not expire; or the thread sleeps without a timer until a task wakes it; or cgroup_unfreeze comes with the wake-up",
    events: &["sched_switch"],
    shows: "the thread slept without a timer, or its timer woke nobody, until a task woke it",
    reading: &["Control Group v2", "Cgroup Freezer"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[],
};

/// From thawing a group to waking a thread of it.
const THAW_NS_MAX: i64 = 2_000_000;

/// The proof that a sleep was a freeze.
struct Freeze<'c> {
    asleep: LifeSpan<'c>,
    woken_by: i32,
    /// An event that shows it, beyond those that begin and end the sleep.
    shows: Option<Event<'c>>,
    sign: FreezeSign,
}

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, Frozen>> {
    let found: Vec<Freeze> = case.life.iter().filter_map(|span| freeze(case, span)).collect();
    let inside = |at_ns: i64| found.iter().find(|one| one.asleep.contains(at_ns));
    let pieces = case.claim_any(|piece| inside(piece.start_ns).is_some())?;
    let longest = pieces.iter().max_by_key(|&&index| case.pieces[index].ns())?;
    let one = inside(case.pieces[*longest].start_ns)?;
    let facts = Frozen {
        sign: one.sign,
        resumed_by: case.names().task_name(one.woken_by),
        slept_ns: one.asleep.end_ns - one.asleep.start_ns,
        began_earlier: one.asleep.began.is_none(),
    };
    let confidence = match one.sign {
        FreezeSign::Thawed | FreezeSign::TimerWokeNobody => Confidence::Certain,
        FreezeSign::TimerCancelled | FreezeSign::NoTimer => Confidence::Likely,
    };
    let bounds = [one.asleep.began, one.asleep.ended].into_iter().flatten();
    let events = one.shows.into_iter().chain(bounds).collect();
    Some(Claim { events, ..Claim::new(pieces, confidence, facts) })
}

fn freeze<'c>(case: &Case<'c>, asleep: &LifeSpan<'c>) -> Option<Freeze<'c>> {
    let wakes = asleep.ended.filter(|event| is_by_a_task(case, event))?;
    if !matches!(asleep.state, LifeState::Asleep { .. })
        || is_stop(case, asleep)
        || asleep.end_ns <= case.trace.window.due_ns
    {
        return None;
    }
    let found = |shows, sign| Some(Freeze { asleep: *asleep, woken_by: wakes.tid, shows, sign });
    let thaws = |event: &Event| {
        event.tid == wakes.tid
            && event.what == (EventKind::Freeze { frozen: false })
            && (wakes.ts_ns - THAW_NS_MAX..=wakes.ts_ns).contains(&event.ts_ns)
    };
    if let Some(thaw) = interventions(case).find(thaws) {
        return found(Some(thaw), FreezeSign::Thawed);
    }
    if let Some(expired) = expired_without_effect(case, asleep) {
        return found(Some(expired), FreezeSign::TimerWokeNobody);
    }
    if case.sleeps_without_timer() {
        return None;
    }
    if let Some(armed) = timer_withdrawn(case, asleep) {
        return found(Some(armed), FreezeSign::TimerCancelled);
    }
    if wakes_itself(case, asleep) {
        return None;
    }
    found(None, FreezeSign::NoTimer)
}

/// Whether a task wakes it, and no interrupt.
fn is_by_a_task(case: &Case, event: &Event) -> bool {
    let own = case.tool_threads.own_tid;
    matches!(event.what, EventKind::Waking { tid, .. } | EventKind::Wakeup { tid, .. } if tid == own)
        && event.flags & (flag::HARDIRQ | flag::SOFTIRQ | flag::NMI) == 0
        && event.tid > 0
        && event.tid != own
        && !is_timer_thread(case.names().comm(event.tid))
}

/// Threads that let timers expire in PREEMPT_RT kernels.
fn is_timer_thread(comm: &str) -> bool {
    ["ktimers/", "ktimersoftd/", "ksoftirqd/"].iter().any(|name| comm.starts_with(name))
}

/// The expiry of the timer for which the thread sleeps, in the middle of its sleep.
fn expired_without_effect<'c>(case: &Case<'c>, asleep: &LifeSpan) -> Option<Event<'c>> {
    let EventKind::HrtimerStart { timer, .. } = last_arm(case, asleep)?.what else { return None };
    let expires = |event: &Event| {
        asleep.contains(event.ts_ns)
            && matches!(event.what, EventKind::HrtimerExpireEntry { timer: expired, .. } if expired == timer)
    };
    let expired = interventions(case).filter(expires).min_by_key(|event| event.ts_ns)?;
    // On its way the wake-up leaves the interrupt first.
    let done = interventions(case).filter(|event| {
        event.cpu == expired.cpu
            && event.ts_ns >= expired.ts_ns
            && matches!(event.what, EventKind::HrtimerExpireExit { timer: done } if done == timer)
    });
    let done_ns = done.map(|event| event.ts_ns).min()?;
    (done_ns < asleep.end_ns).then_some(expired)
}

/// The start of a timer that was due in the middle of an uninterruptible sleep and did not expire.
fn timer_withdrawn<'c>(case: &Case<'c>, asleep: &LifeSpan) -> Option<Event<'c>> {
    let armed = last_arm(case, asleep)?;
    let EventKind::HrtimerStart { timer, expires_ns, .. } = armed.what else { return None };
    let blocked = matches!(asleep.state, LifeState::Asleep { blocked: true });
    let expired = interventions(case).any(|event| {
        // Afterwards the thread may start the same timer again.
        (armed.ts_ns..=asleep.end_ns).contains(&event.ts_ns)
            && matches!(event.what, EventKind::HrtimerExpireEntry { timer: expired, .. } if expired == timer)
    });
    (blocked && !expired && asleep.contains(expires_ns)).then_some(armed)
}

/// The timer that the thread started last before it fell asleep.
fn last_arm<'c>(case: &Case<'c>, asleep: &LifeSpan) -> Option<Event<'c>> {
    let own = case.tool_threads.own_tid;
    let arms = |event: &Event| event.tid == own && matches!(event.what, EventKind::HrtimerStart { .. });
    let before = case.trace.cpus.iter().flat_map(|activity| activity.before.own.iter().copied());
    let inside = case.trace.cpus.iter().flat_map(|activity| activity.events.iter().copied());
    before.chain(inside).filter(|event| event.ts_ns <= asleep.start_ns && arms(event)).max_by_key(|event| event.ts_ns)
}

/// Whether it started a timer before it fell asleep, since it had last been given the CPU; unknown is yes, unless the record shows
/// that its timer is started only afterwards.
fn wakes_itself(case: &Case, asleep: &LifeSpan) -> bool {
    let due_ns = case.trace.window.due_ns;
    let Some(index) = case.life.iter().position(|span| span.start_ns == asleep.start_ns) else { return true };
    let ran = case.life[..index].last().filter(|span| span.state == LifeState::Running);
    match (ran, last_arm(case, asleep)) {
        (Some(ran), Some(arm)) => arm.ts_ns >= ran.start_ns,
        (Some(ran), None) => ran.began.is_none(),
        // It began before the record: a timer that is started after due was not running.
        (None, _) => case.anchors.armed.is_none_or(|armed| armed.ts_ns <= due_ns.max(asleep.end_ns - 1)),
    }
}
