//! Joins events of one site when there are more than are kept: each site stays, with its number and its worst.

use crate::activity::{Activity, Call, Fault, Signal};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Events of a site that stay apart.
const APART_MAX: usize = 64;

/// Where events come from, and what kind they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Site {
    /// The same call, of the same object, by the same stack.
    WithObject,
    /// The same call by the same stack.
    Alone,
}

/// Joins neighbours of each frequent site of a thread, the last event of the thread excepted: it may go on.
pub fn condense(thread: &mut Activity, site: Site) {
    join(&mut thread.calls, |call| of_call(call, site), join_calls);
    join(&mut thread.function_calls, of_function, join_calls);
    join(&mut thread.faults, |fault| (fault.user, fault.instruction, fault.stack.clone()), join_faults);
    join(&mut thread.signals, |signal| signal.number, join_signals);
}

fn of_call(call: &Call, site: Site) -> (i64, bool, bool, u64, Rc<[u64]>) {
    let object = if site == Site::WithObject { call.arguments[0] } else { 0 };
    (call.number, call.injected, call.waited_ns > 0, object, call.stack.clone())
}

/// Only a lock is an object: each block of the heap has another address.
fn of_function(call: &Call) -> (i64, u64, Rc<[u64]>) {
    let is_lock = crate::library::function(call).is_some_and(|function| crate::library::lock_of(function).is_some());
    (call.number, if is_lock { call.arguments[0] } else { 0 }, call.stack.clone())
}

/// In place: memory is short when events are joined.
fn join<T: Default, K: Ord>(events: &mut Vec<T>, site: impl Fn(&T) -> K, join: fn(&mut T, T)) {
    let Some(last) = events.pop() else { return };
    let mut frequent: BTreeMap<K, usize> = BTreeMap::new();
    events.iter().for_each(|event| *frequent.entry(site(event)).or_default() += 1);
    frequent.retain(|_, count| *count > APART_MAX);
    let mut kept = 0;
    let mut alone: BTreeMap<K, usize> = BTreeMap::new();
    for at in 0..events.len() {
        let event = std::mem::take(&mut events[at]);
        let key = site(&event);
        match alone.remove(&key) {
            Some(before) => join(&mut events[before], event),
            None => {
                if frequent.contains_key(&key) {
                    alone.insert(key, kept);
                }
                events[kept] = event;
                kept += 1;
            }
        }
    }
    events.truncate(kept);
    events.push(last);
    events.shrink_to(kept + kept / 2);
}

/// The longer one stays, and stands for both.
fn join_calls(one: &mut Call, other: Call) {
    let joined = one.joined.saturating_add(other.count());
    let total_ns = one.total_ns().saturating_add(other.total_ns());
    if other.duration_ns() > one.duration_ns() {
        *one = other;
    }
    one.joined = joined;
    one.joined_ns = total_ns.saturating_sub(one.duration_ns());
}

fn join_faults(one: &mut Fault, other: Fault) {
    let joined = one.joined.saturating_add(other.count());
    if other.waited_ns > one.waited_ns {
        *one = other;
    }
    one.joined = joined;
}

fn join_signals(one: &mut Signal, other: Signal) {
    one.joined = one.joined.saturating_add(other.count());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: i64, start_ns: i64, duration_ns: i64) -> Call {
        Call { number, start_ns, end_ns: start_ns + duration_ns, ..Call::default() }
    }

    #[test]
    fn a_frequent_site_keeps_its_number_and_its_worst_and_a_rare_one_everything() {
        let mut calls: Vec<Call> = (0..1000).map(|at| call(9, at * 10, if at == 501 { 9 } else { 1 })).collect();
        calls.insert(300, call(1, 2999, 1));
        let mut thread = Activity { calls, ..Activity::default() };
        condense(&mut thread, Site::WithObject);
        assert!(thread.calls.len() < 600, "{}", thread.calls.len());
        let frequent = || thread.calls.iter().filter(|call| call.number == 9);
        assert_eq!(frequent().map(Call::count).sum::<u64>(), 1000);
        assert_eq!(frequent().map(Call::total_ns).sum::<i64>(), 1008);
        assert_eq!(frequent().map(Call::duration_ns).max(), Some(9));
        assert_eq!(thread.calls.iter().filter(|call| call.number == 1).count(), 1);
    }

    #[test]
    fn objects_stay_apart_until_there_are_too_many() {
        let calls = (0..200).map(|at| Call { arguments: [at, 0, 0, 0, 0, 0], ..call(11, at as i64, 1) }).collect();
        let mut thread = Activity { calls, ..Activity::default() };
        condense(&mut thread, Site::WithObject);
        assert_eq!(thread.calls.len(), 200);
        condense(&mut thread, Site::Alone);
        assert!(thread.calls.len() <= 101, "{}", thread.calls.len());
    }
}
