//! Signals that interrupt the loop.

use super::{Rule, Sight, Subject};
use crate::activity::Source;

pub const RULE: Rule = Rule {
    name: "signal",
    title: "is interrupted by signals",
    why: "A handler runs in the middle of a cycle, ends its sleep early, and takes the lock of the process's signals, which it shares with all threads.",
    instead: "Block all signals in this thread with pthread_sigmask and receive them in an ordinary one with signalfd or sigwaitinfo.",
};

/// Signals of job control and debuggers: the user's own doing.
const OF_JOB_CONTROL: [i32; 5] = [18, 19, 20, 21, 22];

/// From 1 on, in the numbering of all architectures that are supported.
const NAMES: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM",
    "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO",
    "PWR", "SYS",
];

fn name(number: i32) -> String {
    let name = usize::try_from(number).ok().and_then(|number| NAMES.get(number.checked_sub(1)?));
    name.map_or_else(|| format!("signal {number}"), |name| format!("SIG{name}"))
}

pub fn check<'a>(subject: &Subject<'a>) -> impl Iterator<Item = Sight<'a>> {
    let signals = subject.activity.signals.iter();
    signals.filter(|signal| subject.is_in_loop(signal.at_ns) && !OF_JOB_CONTROL.contains(&signal.number)).map(
        |signal| {
            let what = name(signal.number);
            Sight {
                rule: &RULE,
                what,
                source: Source::Trace,
                count: signal.count(),
                worst_ns: None,
                at_ns: Some(signal.at_ns),
                stack: &[],
                place: 0,
            }
        },
    )
}
