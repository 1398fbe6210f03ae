//! `sched_yield`, which promises nothing.

use super::{Rule, Sight, Subject};

pub const RULE: Rule = Rule {
    name: "sched-yield",
    title: "calls sched_yield",
    why: "It gives the CPU only to threads of the same priority, and for a time that nothing limits; in a waiting loop it can keep the awaited thread from running at all.",
    instead: "Wait with a futex, a condition variable or an eventfd, or sleep until an instant.",
};

pub const CALL: &str = "sched_yield";

pub fn check<'a>(subject: &Subject<'a>) -> impl Iterator<Item = Sight<'a>> {
    let yields = subject.calls().filter(|call| subject.name_of(call) == CALL);
    yields.map(|call| Sight::of_call(&RULE, call, CALL.into()))
}
