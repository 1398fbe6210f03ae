//! The partner's side: when it gives a stimulus, and which periods it leaves out.

use super::exchange::Exchange;
use super::time::Time;
use super::{LOST_NS, Post};
use crate::measure::partner::PartnerContext;
use crate::measure::schedule::Schedule;
use crate::measure::waiter::WaiterCounts;
use std::sync::atomic::{Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// Interval at which the partner looks whether its last stimulus was answered.
const LAST_LOOK_NS: i64 = 200_000;

/// Gives a stimulus that is not counted, and waits until the measuring thread waits again; `false`: it did not take it.
fn practise(time: &impl Time, post: &dyn Post, exchange: &Exchange, rest_ns: i64) -> bool {
    let given_ns = time.now_ns();
    exchange.practice.store(true, Release);
    post.post();
    while exchange.practice.load(Acquire) {
        if time.now_ns() > given_ns + LOST_NS || exchange.over.load(Relaxed) {
            return false;
        }
    }
    let taken_ns = time.now_ns();
    while time.now_ns() < taken_ns + rest_ns {}
    true
}

/// The partner: a stimulus at every instant of the schedule, as long as the previous one was answered. With `practice` each has
/// one before it that is not counted, and that many ns after it.
pub fn give_on_schedule(
    time: &impl Time,
    context: &PartnerContext,
    post: &dyn Post,
    exchange: &Exchange,
    counts: &WaiterCounts,
    practice: Option<i64>,
) {
    let over = || context.stop.load(Relaxed) || exchange.over.load(Relaxed);
    let is_lost = |given_ns: i64| !exchange.is_answered() && time.now_ns().saturating_sub(given_ns) > LOST_NS;
    let mut pace = Pace::new(context.schedule);
    let mut skipped = 0;
    let mut given_ns = i64::MIN;
    post.prepare();
    while !over() && pace.due_ns < context.schedule.end_ns {
        time.sleep_until_ns(pace.due_ns);
        if over() {
            break;
        }
        if is_lost(given_ns) {
            skipped += exchange.give_up(|| counts.count_unanswered());
        }
        if !exchange.is_answered() {
            skipped += u64::from(pace.is_counted());
        } else if practice.is_some_and(|rest_ns| !practise(time, post, exchange, rest_ns)) {
            // The stimulus itself would be taken for the one of practice.
            if pace.is_counted() && !over() {
                counts.count_unanswered();
            }
        } else {
            given_ns = time.now_ns();
            exchange.give(std::mem::take(&mut skipped), pace.is_counted(), time);
            post.post();
        }
        skipped += pace.advance(time.now_ns());
    }
    while !over() && !exchange.is_answered() && !is_lost(given_ns) {
        time.sleep_until_ns(time.now_ns() + LAST_LOOK_NS);
    }
    if is_lost(given_ns) {
        skipped += exchange.give_up(|| counts.count_unanswered());
    }
    exchange.end(skipped);
    post.end();
}

/// The consecutive instants of a schedule.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    schedule: Schedule,
    pub due_ns: i64,
}

impl Pace {
    pub fn new(schedule: Schedule) -> Self {
        Self { schedule, due_ns: schedule.first_due_ns }
    }

    pub fn is_counted(&self) -> bool {
        (self.schedule.count_from_ns..self.schedule.end_ns).contains(&self.due_ns)
    }

    /// Advances to the next instant after now; returns how many counted ones were skipped.
    pub fn advance(&mut self, now_ns: i64) -> u64 {
        let mut left_out = 0;
        loop {
            let interval_ns = match &mut self.schedule.dither {
                Some(dither) => dither.interval_ns(self.schedule.interval_ns),
                None => self.schedule.interval_ns,
            };
            self.due_ns = self.due_ns.saturating_add(interval_ns.max(1));
            if self.due_ns > now_ns || self.due_ns >= self.schedule.end_ns {
                return left_out;
            }
            left_out += u64::from(self.is_counted());
        }
    }
}
