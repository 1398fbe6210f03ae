//! Page faults in the loop, of the stack separately: their cures differ.

use super::{Rule, Sight, Subject};
use crate::activity::{Activity, Source};
use crate::places::Memory;
use archive::audit::AuditDescription;
use std::collections::BTreeSet;

pub const PAGE_FAULT: Rule = Rule {
    name: "page-fault",
    title: "faults on memory that it touches",
    why: "The kernel has to find a page, at times to free one or to read it from storage, under a lock that all threads of the process share.",
    instead: "Touch every page before the loop, lock memory with mlockall, and stop malloc(3) from giving memory back: mallopt(M_TRIM_THRESHOLD, -1), mallopt(M_MMAP_MAX, 0).",
};

pub const STACK_FAULT: Rule = Rule {
    name: "stack-fault",
    title: "faults on its stack",
    why: "The first use of a page of the stack is a page fault, in whichever cycle first calls that deep.",
    instead: "Before the loop, call a function with a local array of the deepest stack and write to each page of it.",
};

const FAULT_EVENTS: &str = "exceptions:page_fault_user";

/// The kernel of the target has no events of page faults.
pub fn are_counted(description: &AuditDescription) -> bool {
    description.recorded.events_absent.iter().any(|event| event == FAULT_EVENTS)
}

pub fn check<'s, 'a>(subject: &'s Subject<'a>, are_counted: bool) -> Box<dyn Iterator<Item = Sight<'a>> + 's> {
    if are_counted {
        return Box::new(counted(subject).into_iter());
    }
    let walkers = walkers(subject);
    let activity: &'a Activity = subject.activity;
    let faults = activity.faults.iter().filter(|fault| subject.is_in_loop(fault.at_ns));
    let faults = faults.filter(move |fault| fault.user || !walkers.contains(&fault.instruction));
    let faults = faults.filter(|fault| !is_of_interception(&subject.places.memory(fault.address)));
    Box::new(faults.map(|fault| {
        let memory = subject.places.memory(fault.address);
        let rule = if memory == Memory::Stack { &STACK_FAULT } else { &PAGE_FAULT };
        let worst_ns = Some(fault.waited_ns).filter(|ns| *ns > 0);
        let what = format!("a page of {}", memory.words());
        Sight {
            rule,
            what,
            source: Source::Trace,
            count: fault.count(),
            worst_ns,
            at_ns: Some(fault.at_ns),
            stack: &fault.stack,
            place: 0,
        }
    }))
}

/// The library that records the calls, and its memory, are not the program's.
fn is_of_interception(memory: &Memory) -> bool {
    let Memory::File(path) = memory else { return false };
    path.ends_with(call_ring::LIBRARY_NAME) || path.contains(call_ring::MEMORY_NAME)
}

/// Instructions of the kernel that read the user's stack for the trace. They fault where a frame pointer is none, which no
/// system call survives, and such a fault brings no page.
fn walkers(subject: &Subject<'_>) -> BTreeSet<u64> {
    let in_kernel = subject.activity.faults.iter().filter(|fault| !fault.user);
    let nowhere = in_kernel.filter(|fault| subject.places.memory(fault.address) == Memory::Unknown);
    nowhere.map(|fault| fault.instruction).collect()
}

/// Without events there is the kernel's own number, which does not say when and where.
fn counted<'a>(subject: &Subject<'a>) -> Vec<Sight<'a>> {
    let (first, last) = (subject.thread.faults_first, subject.thread.faults_last);
    let count = last.zip(first).map_or(0, |(last, first)| last.saturating_sub(first));
    if count == 0 || subject.cycles.is_none() {
        return Vec::new();
    }
    let what = "since the first look at the thread; this kernel has no events for page faults".into();
    vec![Sight { count, ..Sight::of_state(&PAGE_FAULT, what) }]
}
