//! The scheduler decided, and passed over a real-time thread that could run.
//!
//! Only two things in the kernel do so: real-time throttling (before Linux 6.12, and with CONFIG_RT_GROUP_SCHED), which
//! takes the CPU from all real-time threads for the rest of a period, with groups from those of one group, and the fair server
//! (from 6.12 on), which gives ordinary tasks a share. The fair server never gives the CPU to nobody, nor to a real-time task.

use super::period::period_began;
use crate::account::ledger::Piece;
use crate::read::event::{Event, EventKind, IDLE_EXIT};
use crate::recognise::case::{Case, held};
use crate::replay::context::Context;
use crate::replay::thread_life::{LifeSpan, LifeState};
use archive::culprit::Preferred;
use archive::environment::Environment;
use archive::explanation::{OwnerKind, PhaseName};
use archive::watched::WatchedKind;

/// The first release with a fair server, which the default kernel configuration has instead of throttling.
const FAIR_SERVER_SINCE: (u32, u32) = (6, 12);

/// A thread with a new budget is given the CPU this soon.
const FOLLOWS_NS: i64 = 500_000;

/// The kernel's timers that begin a period of throttling.
const PERIOD_TIMERS: &[&str] = &["sched_rt_period_timer"];

/// The task that the scheduler preferred, and until when.
pub struct PassedOver<'c> {
    /// The event that shows its decision.
    pub decision: Event<'c>,
    /// The last event before in which the CPU was still asked to decide.
    pub asked: Option<Event<'c>>,
    /// Pieces of the ledger that less urgent tasks and idle held since.
    pub pieces: Vec<usize>,
    /// Part of them in which nobody had the CPU.
    pub idle_ns: i64,
    /// From here on it could have run.
    from_ns: i64,
}

impl<'c> PassedOver<'c> {
    pub fn find(case: &Case<'c>) -> Option<Self> {
        if case.tool_threads.own_prio.is_none_or(|prio| prio >= 100) {
            return None;
        }
        Self::until_given_the_cpu(case).or_else(|| Self::on_the_way_to_its_timer(case))
    }

    /// While it could have been given the CPU, as it was awake.
    fn until_given_the_cpu(case: &Case<'c>) -> Option<Self> {
        let work_of_a_cycle = case.input.spike.watched == Some(WatchedKind::Cycle);
        let could_run_ns = match case.anchors.woken {
            _ if work_of_a_cycle => case.trace.window.due_ns,
            woken => woken?.ts_ns,
        };
        let back = delay_around(case, could_run_ns).and_then(|delay| budget_came_back(case, delay));
        let new_budget = back.is_some() && case.input.environment.is_some_and(has_groups);
        let decision = decision(case, could_run_ns, work_of_a_cycle, new_budget)?;
        // It was asked to decide until the last event that says so.
        let asked = last_asked(case, could_run_ns, decision.ts_ns);
        let from_ns = asked.map_or(decision.ts_ns, |event| event.ts_ns);
        let pieces = case.claim(|piece| {
            (case.kept_off(piece) || piece.phase == PhaseName::ReturnToUser)
                && is_mostly_after(piece, from_ns)
                && (is_of_the_less_urgent(case, piece) || (new_budget && is_of_less_urgent_realtime(case, piece)))
        })?;
        // Without a budget its wake-up asks no CPU to decide.
        let from_ns = asked.map_or(could_run_ns, |event| event.ts_ns);
        Some(Self::of(case, decision, asked, pieces, from_ns))
    }

    /// In the middle of its work, between a wake-up that was seen in time and the arming of the next: it was pushed aside.
    fn on_the_way_to_its_timer(case: &Case<'c>) -> Option<Self> {
        let armed = case.anchors.armed?;
        let previous_ns = case.input.spike.previous_seen_ns?;
        if case.input.spike.watched.is_some() || case.previous_overran() {
            return None;
        }
        let own = case.tool_threads.own_tid;
        let activity = case.trace.cpu(armed.cpu)?;
        let course: Vec<Event> = activity.before.own_left.into_iter().chain(activity.events.iter().copied()).collect();
        let way = |event: &&Event| (previous_ns..=armed.ts_ns).contains(&event.ts_ns);
        let switches = || course.iter().filter(way).filter(|event| matches!(event.what, EventKind::Switch { .. }));
        let gives_way = |event: &&Event| {
            matches!(event.what, EventKind::Switch { prev, prev_state, next, next_prio, .. }
                if prev == own && prev_state & 0xff == 0 && (next == 0 || next_prio.is_some_and(|prio| prio >= 100)))
        };
        let comes_back = |event: &&Event| matches!(event.what, EventKind::Switch { next, .. } if next == own);
        let aside: Vec<(i64, i64)> = switches()
            .filter(gives_way)
            .map(|left| {
                let back = switches().filter(comes_back).find(|back| back.ts_ns > left.ts_ns);
                (left.ts_ns, back.map_or(armed.ts_ns, |back| back.ts_ns))
            })
            .collect();
        let decision = *switches().find(gives_way)?;
        let asked = last_asked(case, previous_ns, decision.ts_ns);
        let pieces = case.claim(|piece| {
            piece.phase == PhaseName::LateArm
                && piece.cpu == armed.cpu
                && aside.iter().any(|&(from_ns, to_ns)| from_ns <= piece.start_ns && piece.end_ns <= to_ns)
                && is_of_the_less_urgent(case, piece)
        })?;
        Some(Self::of(case, decision, asked, pieces, asked.map_or(decision.ts_ns, |event| event.ts_ns)))
    }

    fn of(case: &Case<'c>, decision: Event<'c>, asked: Option<Event<'c>>, pieces: Vec<usize>, from_ns: i64) -> Self {
        let idle = pieces.iter().filter(|&&index| held(&case.pieces[index]).is_some_and(Context::is_idle));
        let idle_ns = idle.map(|&index| case.pieces[index].ns()).sum();
        Self { decision, asked, pieces, idle_ns, from_ns }
    }

    /// Whether it can only have been throttling, or only the fair server; `None` when it can have been both.
    pub fn is_throttling(&self, case: &Case) -> Option<bool> {
        if self.idle_ns * 20 > case.ns(&self.pieces) || self.period_began(case).is_some() {
            return Some(true);
        }
        if self.ended_by_itself(case) {
            return Some(false);
        }
        let environment = case.input.environment?;
        let groups = environment.config.is_empty() || has_groups(environment);
        let server = !environment.fair_server_runtime.is_empty();
        match release(&environment.kernel_release) {
            Some(release) if release < FAIR_SERVER_SINCE && !server => Some(true),
            Some(release) if release >= FAIR_SERVER_SINCE && !groups => Some(false),
            _ if server && !groups => Some(false),
            _ => None,
        }
    }

    /// A period of throttling that began right before the thread was given the CPU: it has a budget again.
    pub fn period_began(&self, case: &Case<'c>) -> Option<Event<'c>> {
        let last = self.pieces.iter().map(|&index| &case.pieces[index]).max_by_key(|piece| piece.end_ns)?;
        budget_came_back(case, delay_around(case, last.end_ns)?)
    }

    /// Whether a real-time task had the CPU meanwhile, which only a budget of the thread's own group allows.
    pub fn is_of_a_group(&self, case: &Case) -> bool {
        self.pieces.iter().any(|&index| case.kind(&case.pieces[index]) == OwnerKind::RtTask)
    }

    /// Whether a period of throttling began after the last decision for another task, which kept the CPU for longer than a thread
    /// with a new budget waits: either the budget came back and the task could not be preempted, or the period has nothing to do
    /// with it.
    pub fn period_began_meanwhile(&self, case: &Case<'c>) -> bool {
        let last_ns = self.pieces.iter().map(|&index| case.pieces[index].end_ns).max();
        let Some(delay) = last_ns.and_then(|last_ns| delay_around(case, last_ns)) else { return false };
        let Some(period) = period_began(case, PERIOD_TIMERS, (self.from_ns, delay.end_ns)) else { return false };
        let decided = |event: &Event| {
            event.cpu == case.cpu()
                && (period.ts_ns + 1..delay.end_ns).contains(&event.ts_ns)
                && matches!(event.what, EventKind::Switch { .. })
        };
        case.event(decided).is_none()
    }

    /// All pieces in which the thread was kept from running up to an instant, regardless of which task had the CPU and of whether
    /// the host executed it.
    pub fn until(&self, case: &Case, end_ns: i64) -> Option<Vec<usize>> {
        let since_ns = self.used_up_ns(case);
        case.claim_any(|piece| {
            (case.kept_off(piece) || self.pieces.iter().any(|&index| case.pieces[index] == *piece))
                && since_ns <= piece.start_ns
                && piece.start_ns < end_ns
        })
    }

    /// Whether the thread had no budget in a piece: whatever had the CPU made no difference.
    pub fn has_no_budget(&self, case: &Case<'c>, piece: &Piece) -> bool {
        let until_ns = self.period_began(case).map_or(i64::MAX, |period| period.ts_ns);
        case.kept_off(piece) && (self.used_up_ns(case)..until_ns).contains(&piece.start_ns)
    }

    /// Since when the budget was used up: only real-time tasks of this CPU use it, so a task that kept the CPU before the
    /// decision made no difference.
    fn used_up_ns(&self, case: &Case) -> i64 {
        let Some(delay) = delay_around(case, self.from_ns) else { return self.from_ns };
        let spends = |piece: &&Piece| {
            (delay.start_ns..self.from_ns).contains(&piece.start_ns) && case.kind(piece) == OwnerKind::RtTask
        };
        let last_ns = case.pieces.iter().filter(spends).map(|piece| piece.end_ns).max();
        last_ns.unwrap_or(delay.start_ns).min(self.from_ns)
    }

    /// The thread was chosen as soon as the task fell asleep or ended: nothing forbade it to run.
    fn ended_by_itself(&self, case: &Case) -> bool {
        let own = case.tool_threads.own_tid;
        let given = case.event(|event| {
            event.ts_ns > self.decision.ts_ns && matches!(event.what, EventKind::Switch { next, .. } if next == own)
        });
        given.is_some_and(|event| {
            matches!(event.what, EventKind::Switch { prev: 1.., prev_prio: Some(100..), prev_state, .. } if prev_state & 0xff != 0)
        })
    }

    /// The task that was given most of the time, and how many others had the rest; `None` if the CPU was left idle.
    pub fn preferred(&self, case: &Case) -> Option<Preferred> {
        let is_task = |piece: &Piece| matches!(case.kind(piece), OwnerKind::Task | OwnerKind::RtTask);
        let tasks: Vec<usize> = self.pieces.iter().copied().filter(|&index| is_task(&case.pieces[index])).collect();
        let (largest, others) = case.largest(&tasks, |_, piece| piece.answer.context().tid())?;
        Some(Preferred { largest: case.names().task_name(largest?), others })
    }

    /// The real-time task that left the CPU last although it could have gone on: it had used up what there was to use.
    pub fn spender(&self, case: &Case) -> Option<i32> {
        let activity = case.trace.cpu(case.cpu())?;
        let left = activity.before.events().chain(activity.events.iter().copied()).filter(|event| {
            matches!(event.what, EventKind::Switch { prev, prev_prio: Some(..100), prev_state, .. }
                if prev != case.tool_threads.own_tid && prev_state & 0xff == 0 && event.ts_ns <= self.decision.ts_ns)
        });
        let Some(EventKind::Switch { prev, .. }) = left.max_by_key(|event| event.ts_ns).map(|event| event.what) else {
            return None;
        };
        (prev > 0).then_some(prev)
    }
}

/// The stretch around an instant in which the thread could run and did not.
pub fn delay_around<'c>(case: &Case<'c>, at_ns: i64) -> Option<&'c LifeSpan<'c>> {
    let delayed =
        |span: &&LifeSpan| span.state == LifeState::Runnable && (span.start_ns..=span.end_ns).contains(&at_ns);
    case.life.iter().find(delayed)
}

/// Whether the kernel is known to give each control group of real-time threads a budget of its own.
fn has_groups(environment: &Environment) -> bool {
    environment.config.iter().any(|line| line == "CONFIG_RT_GROUP_SCHED=y")
}

/// The period that began right before a wait ended.
fn budget_came_back<'c>(case: &Case<'c>, delay: &LifeSpan) -> Option<Event<'c>> {
    period_began(case, PERIOD_TIMERS, (delay.end_ns - FOLLOWS_NS, delay.end_ns))
}

/// A real-time task of another group, which has a budget of its own: by its priority alone it would have waited.
fn is_of_less_urgent_realtime(case: &Case, piece: &Piece) -> bool {
    let is_outranked = |tid| !case.outranks(tid, piece);
    case.kind(piece) == OwnerKind::RtTask && piece.answer.context().tid().is_some_and(is_outranked)
}

fn is_of_the_less_urgent(case: &Case, piece: &Piece) -> bool {
    case.kind(piece) == OwnerKind::Task || held(piece).is_some_and(Context::is_idle)
}

/// Pieces end where the holder of the CPU changes, not where it was asked to yield.
fn is_mostly_after(piece: &Piece, from_ns: i64) -> bool {
    (from_ns - piece.start_ns).saturating_mul(2) <= piece.ns()
}

/// The last event before a decision in which the CPU was asked to decide.
fn last_asked<'c>(case: &Case<'c>, from_ns: i64, decided_ns: i64) -> Option<Event<'c>> {
    let undecided = |event: &&Event| event.ts_ns < decided_ns && event.needs_resched();
    case.trace.cpu(case.cpu())?.events_between(from_ns, decided_ns).iter().rfind(undecided).copied()
}

/// The first event that shows a less urgent task chosen while the thread could run: a switch to it, going idle, or a
/// task that is no longer asked to give way and goes on. Where the thread had no budget, that task can be a real-time one.
fn decision<'c>(case: &Case<'c>, could_run_ns: i64, work_of_a_cycle: bool, no_budget: bool) -> Option<Event<'c>> {
    let own = case.tool_threads.own_tid;
    let own_prio = case.tool_threads.own_prio.filter(|_| no_budget);
    let is_less_urgent = |prio: Option<i32>| prio.is_some_and(|prio| prio > own_prio.unwrap_or(99));
    let switched = case.anchors.switched;
    let waits = |ts_ns: i64| !work_of_a_cycle && switched.is_none_or(|switched| ts_ns < switched.ts_ns);
    let asked = case.event(|event| event.cpu == case.cpu() && event.ts_ns >= could_run_ns && event.needs_resched());
    let asked_later = |event: &Event| asked.is_some_and(|asked| asked.ts_ns < event.ts_ns && asked.tid == event.tid);
    case.event(|event| {
        if event.cpu != case.cpu() || event.ts_ns <= could_run_ns {
            return false;
        }
        match event.what {
            EventKind::Switch { prev, prev_state, next, next_prio, .. } => {
                next != own
                    && (next == 0 || is_less_urgent(next_prio))
                    && (waits(event.ts_ns) || (prev == own && prev_state & 0xff == 0))
            }
            EventKind::Idle { state } => state != IDLE_EXIT && waits(event.ts_ns),
            _ => {
                waits(event.ts_ns)
                    && event.tid != own
                    && !case.names().is_rt(event.tid)
                    && asked_later(event)
                    && !event.needs_resched()
            }
        }
    })
}

/// `6.12.94-rt` is (6, 12).
fn release(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|letter: char| !letter.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_their_numbers() {
        assert_eq!(release("6.12.94+deb13-rt-amd64"), Some((6, 12)));
        assert!(release("6.1.0-50-rt-amd64").is_some_and(|release| release < FAIR_SERVER_SINCE));
        assert_eq!(release(""), None);
        assert_eq!(release("unknown"), None);
    }
}
