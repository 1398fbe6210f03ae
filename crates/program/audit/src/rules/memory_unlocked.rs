//! Memory that the kernel may take away.

use super::{Rule, Sight, Subject};

pub const RULE: Rule = Rule {
    name: "memory-not-locked",
    title: "runs in a process that has not locked its memory",
    why: "The kernel may drop pages of the program, also of its code, and read them again from storage while a deadline passes.",
    instead: "Call mlockall(MCL_CURRENT | MCL_FUTURE) before the loop.",
};

pub fn check<'a>(subject: &Subject<'a>) -> Vec<Sight<'a>> {
    let Some(process) = subject.places.process().filter(|process| process.size_kb > 0) else { return Vec::new() };
    if process.locked_kb > 0 || subject.cycles.is_none() {
        return Vec::new();
    }
    vec![Sight::of_state(&RULE, format!("0 of {} KiB locked", process.size_kb))]
}
