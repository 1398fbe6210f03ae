//! The habits that are looked for, one file each, and how they are looked for.

mod address_space;
mod blocking_io;
mod frequent_calls;
mod heap;
mod interrupt_thread;
mod locks;
mod memory_unlocked;
mod page_faults;
mod signals;
mod sleeps;
mod timer_slack;
mod yields;

use crate::activity::{Activity, Call, Source};
use crate::cycles::{Loop, STORM_PER_SECOND};
use crate::frame::Frame;
use crate::library;
use crate::naming::Naming;
use crate::places::{Places, is_c_library};
use crate::system_calls;
use archive::audit::{AuditDescription, AuditedThread};
use archive::settings::Policy;
use call_ring::function::Function;
use serde::Serialize;
use std::collections::BTreeMap;

/// Most findings of an audit. A real program has dozens.
const FINDINGS_MAX: usize = 10_000;
/// Most places of a finding that are counted.
const STACKS_MAX: usize = 1000;

/// A habit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// Stable, for `--deny` and `--allow`.
    pub name: &'static str,
    /// The habit of a thread, after its name in a sentence.
    pub title: &'static str,
    pub why: &'static str,
    pub instead: &'static str,
}

/// Every rule, in the order of findings.
pub const RULES: [Rule; 18] = [
    memory_unlocked::RULE,
    page_faults::PAGE_FAULT,
    page_faults::STACK_FAULT,
    address_space::RULE,
    heap::ALLOCATION,
    heap::RELEASE,
    blocking_io::RULE,
    locks::WITHOUT_INHERITANCE,
    locks::TAKEN,
    locks::SHARED,
    sleeps::WALL_CLOCK,
    sleeps::RELATIVE,
    yields::RULE,
    frequent_calls::RULE,
    signals::RULE,
    timer_slack::NOT_REAL_TIME,
    timer_slack::SLACK,
    interrupt_thread::RULE,
];

/// A habit of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Habit {
    pub rule: &'static str,
    pub pid: i32,
    pub tid: i32,
    /// Name of the thread.
    pub thread: String,
    /// The exact call: `write to /dev/pts/0`.
    pub what: String,
    /// How often, in its loop; 0 for a state and not an event.
    pub count: u64,
    /// Events of its kind were lost: it happened at least as often.
    pub is_lower_bound: bool,
    /// Rate in the part of its loop that the trace has. Of a program that records its calls: of its calls, the lost ones
    /// included in proportion. Absent for a state.
    pub per_second: Option<u64>,
    /// The longest one, in ns; absent where the trace shows no duration.
    pub worst_ns: Option<i64>,
    /// CLOCK_MONOTONIC of the target, of the longest one or of the first.
    pub at_ns: Option<i64>,
    /// From where, innermost first: the most frequent place of a storm, otherwise of the longest one.
    pub stack: Vec<Frame>,
    pub why: &'static str,
    pub instead: &'static str,
}

/// A thread with everything that a rule needs.
#[derive(Debug, Clone)]
pub struct Subject<'a> {
    pub thread: AuditedThread,
    pub activity: &'a Activity,
    pub cycles: Option<Loop>,
    /// Calls in its loop that were recorded, of functions as well.
    pub recorded_calls: u64,
    pub places: Places<'a>,
    pub machine: &'a str,
}

impl<'a> Subject<'a> {
    pub fn is_real_time(&self) -> bool {
        matches!(self.thread.policy, Some(Policy::Fifo | Policy::Rr | Policy::Deadline))
    }

    /// Its calls in its loop.
    pub fn calls(&self) -> impl Iterator<Item = &'a Call> + use<'a> {
        let (activity, cycles) = (self.activity, self.cycles);
        activity.calls.iter().filter(move |call| cycles.is_some_and(|cycles| cycles.contains(call.start_ns)))
    }

    /// Its calls of functions of the C library in its loop.
    pub fn function_calls(&self) -> impl Iterator<Item = (&'a Call, Function)> + use<'a> {
        let (activity, cycles) = (self.activity, self.cycles);
        let calls = activity.function_calls.iter();
        let calls = calls.filter(move |call| cycles.is_some_and(|cycles| cycles.contains(call.start_ns)));
        calls.filter_map(|call| Some((call, library::function(call)?)))
    }

    /// Where the program called a function: what the C library calls itself is called from there, too.
    pub fn place(&self, call: &Call) -> u64 {
        let is_of_program = |address: &&u64| !self.places.code(**address).is_some_and(|(file, _)| is_c_library(file));
        call.stack.iter().find(is_of_program).or(call.stack.first()).copied().unwrap_or(0)
    }

    pub fn is_in_loop(&self, at_ns: i64) -> bool {
        self.cycles.is_some_and(|cycles| cycles.contains(at_ns))
    }

    pub fn name_of(&self, call: &Call) -> &'static str {
        self.name_of_number(call.number)
    }

    pub fn name_of_number(&self, number: i64) -> &'static str {
        system_calls::name(self.machine, number).unwrap_or_default()
    }

    /// The part of its loop that was recorded, in ns.
    pub fn seen_ns(&self) -> Option<i64> {
        self.cycles.map(|found| self.activity.seen_ns(found.start_ns, found.end_ns))
    }

    /// Calls of its loop that the program itself did not record.
    pub fn lost_calls(&self) -> Option<u64> {
        self.cycles.map(|found| self.activity.lost_calls(found.start_ns, found.end_ns))
    }

    /// Whether it had more events in its loop than were recorded.
    pub fn has_losses(&self, source: Source) -> bool {
        self.cycles.is_some_and(|found| match source {
            Source::Calls if self.activity.records_calls => self.lost_calls() > Some(0),
            Source::Calls | Source::Trace => self.seen_ns() < Some(found.end_ns.saturating_sub(found.start_ns)),
        })
    }

    /// The rate of events in its loop.
    pub fn per_second(&self, count: u64, source: Source) -> Option<u64> {
        let Loop { start_ns, end_ns, .. } = self.cycles?;
        match source {
            Source::Calls => self.activity.calls_per_second(count, self.recorded_calls, start_ns, end_ns),
            Source::Trace => self.activity.traced_per_second(count, start_ns, end_ns),
        }
    }
}

/// A habit that a rule saw once, or a state.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sight<'a> {
    rule: &'static Rule,
    what: String,
    source: Source,
    /// 0 for a state.
    count: u64,
    worst_ns: Option<i64>,
    at_ns: Option<i64>,
    stack: &'a [u64],
    /// Sights of another place are another finding; 0 if the place does not matter.
    place: u64,
}

impl<'a> Sight<'a> {
    fn of_call(rule: &'static Rule, call: &'a Call, what: String) -> Self {
        let worst_ns = call.answer.map(|_| call.duration_ns());
        Self {
            rule,
            what,
            source: Source::Calls,
            count: call.count(),
            worst_ns,
            at_ns: Some(call.start_ns),
            stack: &call.stack,
            place: 0,
        }
    }

    /// A call of a function: each place that calls it is a finding.
    fn of_function(rule: &'static Rule, subject: &Subject<'a>, call: &'a Call, what: String) -> Self {
        Self { place: subject.place(call), ..Self::of_call(rule, call, what) }
    }

    fn of_state(rule: &'static Rule, what: String) -> Self {
        Self { rule, what, source: Source::Trace, count: 0, worst_ns: None, at_ns: None, stack: &[], place: 0 }
    }
}

/// Looks for every habit of the audited threads, and says whether there are more findings than are kept; `subjects` are
/// all threads of the program.
pub fn check(
    description: &AuditDescription,
    subjects: &[Subject<'_>],
    audited: &[&Subject<'_>],
    naming: &mut Naming<'_>,
) -> (Vec<Habit>, bool) {
    let locks = locks::find(subjects);
    let faults_are_counted = page_faults::are_counted(description);
    let interrupt_threads = description.interrupt_threads.iter().map(|thread| (thread.tid, thread)).collect();
    let mut findings = Vec::new();
    let mut more = false;
    for subject in audited {
        let mut joined = Joined::default();
        joined.extend(memory_unlocked::check(subject));
        joined.extend(page_faults::check(subject, faults_are_counted));
        joined.extend(address_space::check(subject));
        joined.extend(heap::check(subject));
        joined.extend(blocking_io::check(subject));
        joined.extend(locks::check(subject, &locks, naming));
        joined.extend(sleeps::check(subject));
        joined.extend(yields::check(subject));
        joined.extend(frequent_calls::check(subject));
        joined.extend(signals::check(subject));
        joined.extend(timer_slack::check(subject));
        joined.extend(interrupt_thread::check(subject, &interrupt_threads));
        let room = FINDINGS_MAX.saturating_sub(findings.len());
        more |= joined.more || joined.sights.len() > room;
        findings.extend(joined.sights.into_values().take(room).map(|sites| finding(subject, sites, naming)));
    }
    // A state of the process is one finding and not one for each of its threads.
    findings.sort_by_key(|finding| RULES.iter().position(|rule| rule.name == finding.rule));
    findings.dedup_by(|one, other| {
        one.rule == memory_unlocked::RULE.name && (one.rule, one.pid) == (other.rule, other.pid)
    });
    (findings, more)
}

/// Sights of one thing: the longest one with the number of all, and the number of each place.
#[derive(Debug)]
struct Sites<'a> {
    sight: Sight<'a>,
    stacks: BTreeMap<&'a [u64], u64>,
}

impl<'a> Sites<'a> {
    fn of(sight: Sight<'a>) -> Self {
        Self { stacks: BTreeMap::from([(sight.stack, sight.count)]), sight }
    }

    fn add(&mut self, sight: Sight<'a>) {
        if self.stacks.len() < STACKS_MAX || self.stacks.contains_key(sight.stack) {
            let count = self.stacks.entry(sight.stack).or_default();
            *count = count.saturating_add(sight.count);
        }
        let count = self.sight.count.saturating_add(sight.count);
        if sight.worst_ns > self.sight.worst_ns {
            self.sight = sight;
        }
        self.sight.count = count;
    }

    /// A storm is shown from where most of it comes; the longest one may have come from elsewhere.
    fn chosen(mut self, per_second: Option<u64>) -> Sight<'a> {
        if per_second.is_some_and(|rate| rate >= STORM_PER_SECOND)
            && let Some((stack, _)) = self.stacks.into_iter().max_by_key(|(_, count)| *count)
        {
            self.sight.stack = stack;
        }
        self.sight
    }
}

/// One for each rule and what it is about.
#[derive(Debug, Default)]
struct Joined<'a> {
    sights: BTreeMap<(&'static str, String, u64), Sites<'a>>,
    /// There were more than are kept.
    more: bool,
}

impl<'a> Joined<'a> {
    fn extend(&mut self, sights: impl IntoIterator<Item = Sight<'a>>) {
        sights.into_iter().for_each(|sight| self.add(sight));
    }

    fn add(&mut self, sight: Sight<'a>) {
        let key = (sight.rule.name, sight.what.clone(), sight.place);
        if let Some(known) = self.sights.get_mut(&key) {
            known.add(sight);
        } else if self.sights.len() < FINDINGS_MAX {
            self.sights.insert(key, Sites::of(sight));
        } else {
            self.more = true;
        }
    }
}

fn finding(subject: &Subject<'_>, sites: Sites<'_>, naming: &mut Naming<'_>) -> Habit {
    let per_second = subject.per_second(sites.sight.count, sites.sight.source).filter(|_| sites.sight.count > 0);
    let is_lower_bound = sites.sight.count > 0 && subject.has_losses(sites.sight.source);
    let sight = sites.chosen(per_second);
    Habit {
        rule: sight.rule.name,
        pid: subject.thread.pid,
        tid: subject.thread.tid,
        thread: subject.thread.name.clone(),
        what: sight.what,
        count: sight.count,
        is_lower_bound,
        per_second,
        worst_ns: sight.worst_ns,
        at_ns: sight.at_ns,
        stack: naming.stack(subject.thread.pid, &subject.places, sight.stack),
        why: sight.rule.why,
        instead: sight.rule.instead,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_of_rules_are_unique_and_each_has_a_reason_and_an_advice() {
        let names: BTreeSet<&str> = RULES.iter().map(|rule| rule.name).collect();
        assert_eq!(names.len(), RULES.len());
        for rule in RULES {
            assert!(rule.name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-'), "{rule:?}");
            assert!(rule.why.ends_with('.') && rule.instead.ends_with('.'), "{rule:?}");
        }
    }
}
