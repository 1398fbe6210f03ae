//! Calls at a rate that no loop needs: a lock that is fought for, a queue that is polled, a buffer of one byte.

use super::{Rule, Sight, Subject, yields};
use crate::activity::{Call, Source};
use crate::system_calls::{ADDRESS_SPACE, FILE_SYSTEM};
use std::collections::BTreeMap;

pub const RULE: Rule = Rule {
    name: "frequent-calls",
    title: "makes system calls at a high rate",
    why: "Each call enters the kernel, which takes its locks, does its pending work and may switch to another thread before it returns. At thousands a second the loop spends its time there, and every cycle meets the worst of it.",
    instead: "Wait once until there is work instead of asking repeatedly, join small transfers into one, and share data through memory. For a futex, hold the lock for less time or give each thread its own data.",
};

/// Calls a second from which a rate is high.
const PER_SECOND_MIN: u64 = 5000;
/// Calls in each cycle that a fast loop may make all the same.
const PER_CYCLE_MAX: u64 = 4;

pub fn check<'a>(subject: &Subject<'a>) -> Vec<Sight<'a>> {
    let Some(found) = subject.cycles else { return Vec::new() };
    let mut by_number: BTreeMap<i64, u64> = BTreeMap::new();
    subject.calls().for_each(|call| *by_number.entry(call.number).or_default() += call.count());
    by_number.retain(|number, count| {
        let is_futex = is_futex(subject, *number);
        let is_frequent = subject.per_second(*count, Source::Calls).is_some_and(|rate| rate >= PER_SECOND_MIN);
        // The loop's own wait is what a loop is for; one that waits for a futex as often fights for a lock.
        let is_allowed = match *number == found.number {
            true => !is_futex,
            false => *count <= found.cycles.saturating_mul(PER_CYCLE_MAX),
        };
        is_frequent && !is_allowed
    });
    let sight = |call: &'a Call| {
        let name = subject.name_of(call);
        if !by_number.contains_key(&call.number) || is_of_another_rule(name) {
            return None;
        }
        let what = if name.is_empty() { format!("call {}", call.number) } else { name.to_owned() };
        let busy_ns = call.duration_ns().saturating_sub(call.waited_ns);
        Some(Sight { worst_ns: call.answer.map(|_| busy_ns), ..Sight::of_call(&RULE, call, what) })
    };
    subject.calls().filter_map(sight).collect()
}

fn is_futex(subject: &Subject<'_>, number: i64) -> bool {
    matches!(subject.name_of_number(number), "futex" | "futex_time64")
}

fn is_of_another_rule(name: &str) -> bool {
    ADDRESS_SPACE.contains(&name) || FILE_SYSTEM.contains(&name) || name == yields::CALL || name.contains("nanosleep")
}
