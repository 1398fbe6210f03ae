//! Locks that do not lend their holder the priority of those who wait.
//!
//! A lock without contention makes no system call, and a futex may be anything. The words of the C library, of musl and
//! of Rust's standard library for "locked, and others wait" identify a lock: 2, or the owner with the highest bit. A program that
//! records its calls of functions shows the locks that nobody waited for as well.

use super::{Rule, Sight, Subject};
use crate::activity::Call;
use crate::cycles::Loop;
use crate::library::{lock_of, takes_plain_lock};
use crate::naming::Naming;
use call_ring::function::{Effect, Function, Lock};
use std::collections::{BTreeMap, BTreeSet};

pub const WITHOUT_INHERITANCE: Rule = Rule {
    name: "lock-without-inheritance",
    title: "waits for a lock without priority inheritance",
    why: "The holder keeps its own priority, so any thread between the two may delay the release without a bound.",
    instead: "Initialise the mutex with pthread_mutexattr_setprotocol(PTHREAD_PRIO_INHERIT), or share the data without a lock.",
};

pub const SHARED: Rule = Rule {
    name: "lock-across-priorities",
    title: "shares a lock with a less urgent thread",
    why: "As soon as both want it at once, the urgent thread waits for the other one, and for all that preempts that.",
    instead: "Initialise the mutex with pthread_mutexattr_setprotocol(PTHREAD_PRIO_INHERIT), or hand the data over through a ring.",
};

pub const TAKEN: Rule = Rule {
    name: "lock-that-may-wait",
    title: "takes a lock without priority inheritance",
    why: "Where no other thread held it, no system call shows it. When another thread holds it, this thread waits for the holder and for everything that preempts the holder. Seen with --by preload.",
    instead: "Initialise the mutex with pthread_mutexattr_setprotocol(PTHREAD_PRIO_INHERIT), try it with pthread_mutex_trylock, or share the data without a lock. Read-write locks and spin locks have no priority inheritance.",
};

const WAIT: u64 = 0;
const WAKE: u64 = 1;
const WAIT_BITSET: u64 = 9;
/// The operation without the flags for private futexes and for the clock.
const OPERATION: u64 = 0x7f;
const CONTENDED: u64 = 2;
const OWNED: u64 = 0x8000_0000;

/// A futex of a process.
type Word = (i32, u64);
/// A thread: urgency, number, name.
type User = (i32, i32, String);

/// The threads that took a lock, least urgent first, and when each did so first and last.
type Takers = BTreeMap<User, (i64, i64)>;

/// The locks of a program.
#[derive(Debug, Default)]
pub struct Locks {
    /// Each with the threads that used it, least urgent first.
    users: BTreeMap<Word, BTreeSet<User>>,
    /// The locks that a function took.
    taken: BTreeMap<Word, Takers>,
}

impl Locks {
    /// The least urgent thread that took a lock during a loop.
    fn least_urgent(&self, word: Word, found: Option<Loop>) -> Option<&User> {
        let found = found?;
        let during = |(first_ns, last_ns): &(i64, i64)| *first_ns <= found.end_ns && found.start_ns <= *last_ns;
        self.taken.get(&word)?.iter().find(|(_, instants)| during(instants)).map(|(user, _)| user)
    }
}

/// Finds the locks that any thread waited for, and those that functions took.
pub fn find(subjects: &[Subject<'_>]) -> Locks {
    let mut locks = Locks::default();
    for subject in subjects {
        let futexes = calls(subject).filter(|(_, call)| waits_for_lock(call));
        futexes.for_each(|(word, _)| _ = locks.users.entry(word).or_default());
    }
    for subject in subjects {
        let user = (urgency(subject), subject.thread.tid, subject.thread.name.clone());
        for call in &subject.activity.function_calls {
            let takes =
                crate::library::function(call).is_some_and(|function| matches!(function.effect(), Effect::Lock(_)));
            if takes {
                let users = locks.taken.entry((subject.thread.pid, call.arguments[0])).or_default();
                let at = users.entry(user.clone()).or_insert((call.start_ns, call.start_ns));
                *at = (at.0.min(call.start_ns), at.1.max(call.start_ns));
            }
        }
    }
    for subject in subjects {
        for (word, call) in calls(subject) {
            let uses = waits_for_lock(call) || operation(call) == WAKE;
            if let Some(users) = locks.users.get_mut(&word).filter(|_| uses) {
                users.insert((urgency(subject), subject.thread.tid, subject.thread.name.clone()));
            }
        }
    }
    locks
}

pub fn check<'a>(subject: &Subject<'a>, locks: &Locks, naming: &mut Naming<'_>) -> Vec<Sight<'a>> {
    let mut sights = of_functions(subject, locks, naming);
    let in_loop = subject.calls().filter(|call| is_futex(subject, call));
    for call in in_loop {
        let word = (subject.thread.pid, call.arguments[0]);
        let Some(users) = locks.users.get(&word) else { continue };
        let mut lock = || naming.data(word.0, &subject.places, word.1);
        if waits_for_lock(call) && call.waited_ns > 0 {
            sights.push(Sight::of_call(&WITHOUT_INHERITANCE, call, format!("the lock {}", lock())));
        }
        let own = urgency(subject);
        // Its functions show each time that it is taken, and not only those with a wait.
        if locks.taken.contains_key(&word) {
            continue;
        }
        if let Some((_, tid, name)) = users.first().filter(|(urgency, ..)| *urgency < own) {
            let what = format!("the lock {}, which {name} (thread {tid}) takes as well", lock());
            let sight = Sight::of_call(&SHARED, call, what);
            sights.push(Sight { worst_ns: Some(call.waited_ns).filter(|ns| *ns > 0), ..sight });
        }
    }
    sights
}

fn of_functions<'a>(subject: &Subject<'a>, locks: &Locks, naming: &mut Naming<'_>) -> Vec<Sight<'a>> {
    let mut sights = Vec::new();
    for (call, function) in subject.function_calls().filter(|(call, function)| takes_plain_lock(call, *function)) {
        let word = (subject.thread.pid, call.arguments[0]);
        let (kind, purpose) = match (lock_of(function), function) {
            (_, Function::ReadLock) => ("read-write lock", " for reading"),
            (Some(Lock::ReadWrite), _) => ("read-write lock", " for writing"),
            (Some(Lock::Spin), _) => ("spin lock", ""),
            (Some(Lock::Mutex) | None, _) => ("lock", ""),
        };
        let lock = format!("the {kind} {}", naming.data(word.0, &subject.places, word.1));
        let user = locks.least_urgent(word, subject.cycles).filter(|(urgency_of, ..)| *urgency_of < urgency(subject));
        if let Some((_, tid, name)) = user {
            let what = format!("{lock}, which {name} (thread {tid}) takes as well");
            sights.push(Sight { worst_ns: None, ..Sight::of_call(&SHARED, call, what) });
        }
        sights.push(Sight::of_function(&TAKEN, subject, call, lock + purpose));
    }
    sights
}

fn calls<'a>(subject: &Subject<'a>) -> impl Iterator<Item = (Word, &'a Call)> {
    let pid = subject.thread.pid;
    let futexes = subject.activity.calls.iter().filter(|call| is_futex(subject, call));
    futexes.map(move |call| ((pid, call.arguments[0]), call)).collect::<Vec<_>>().into_iter()
}

fn is_futex(subject: &Subject<'_>, call: &Call) -> bool {
    matches!(subject.name_of(call), "futex" | "futex_time64")
}

fn operation(call: &Call) -> u64 {
    call.arguments[1] & OPERATION
}

fn waits_for_lock(call: &Call) -> bool {
    let value = call.arguments[2] & 0xffff_ffff;
    let without_timeout = call.arguments[3] == 0;
    matches!(operation(call), WAIT | WAIT_BITSET) && without_timeout && (value == CONTENDED || value & OWNED != 0)
}

/// A larger number is more urgent.
fn urgency(subject: &Subject<'_>) -> i32 {
    use archive::settings::Policy;
    match subject.thread.policy {
        Some(Policy::Deadline) => 100,
        Some(Policy::Fifo | Policy::Rr) => i32::from(subject.thread.priority),
        Some(Policy::Other) | None => 0,
    }
}
