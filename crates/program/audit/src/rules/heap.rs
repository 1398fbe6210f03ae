//! Functions of the heap, which the kernel seldom sees.

use super::{Rule, Sight, Subject};
use call_ring::function::Effect;

pub const ALLOCATION: Rule = Rule {
    name: "heap-allocation",
    title: "allocates from the heap",
    why: "The allocator may take a lock that any other thread holds, searches for a block for a time without a bound, and now and then asks the kernel for memory. Seen with --by preload.",
    instead: "Allocate everything before the loop, or take blocks of one size from a pool of this thread.",
};

pub const RELEASE: Rule = Rule {
    name: "heap-free",
    title: "gives memory back to the heap",
    why: "The allocator may take a lock that any other thread holds, joins neighbouring blocks, and may give memory back to the kernel. Seen with --by preload.",
    instead: "Put the block back into a pool, or hand it to an ordinary thread that frees it.",
};

pub fn check<'a>(subject: &Subject<'a>) -> impl Iterator<Item = Sight<'a>> {
    subject.function_calls().filter_map(|(call, function)| {
        let rule = match function.effect() {
            Effect::Allocation => &ALLOCATION,
            Effect::Release => &RELEASE,
            _ => return None,
        };
        Some(Sight::of_function(rule, subject, call, function.name().to_owned()))
    })
}
