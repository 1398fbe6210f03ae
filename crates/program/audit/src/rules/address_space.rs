//! Allocations that reach the kernel.

use super::{Rule, Sight, Subject};
use crate::system_calls::ADDRESS_SPACE;

pub const RULE: Rule = Rule {
    name: "allocation",
    title: "changes its address space",
    why: "The call takes the lock of the process's memory, which a thread that faults or maps holds for milliseconds; new pages fault at their first use.",
    instead: "Allocate everything before the loop, or from a pool; mallopt(M_TRIM_THRESHOLD, -1) and mallopt(M_MMAP_MAX, 0) keep malloc(3) away from the kernel.",
};

pub fn check<'a>(subject: &Subject<'a>) -> impl Iterator<Item = Sight<'a>> {
    let calls = subject.calls().map(|call| (call, subject.name_of(call)));
    calls
        .filter(|(_, name)| ADDRESS_SPACE.contains(name))
        .map(|(call, name)| Sight::of_call(&RULE, call, name.to_owned()))
}
