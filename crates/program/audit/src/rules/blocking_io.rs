//! Input and output without a bound on its duration: files, terminals, and full pipes.

use super::{Rule, Sight, Subject};
use crate::activity::Call;
use crate::system_calls::{FILE_SYSTEM, TRANSFER, writes};

pub const RULE: Rule = Rule {
    name: "blocking-io",
    title: "uses files or terminals",
    why: "A file system may wait for its journal or for a device, a terminal for its reader: often milliseconds, at worst seconds.",
    instead: "Hand the data to an ordinary thread through a ring in memory, which writes it.",
};

/// Standard output and standard error.
const PRINTED: [i32; 2] = [1, 2];
const NULL: &str = "/dev/null";

pub fn check<'a>(subject: &Subject<'a>) -> impl Iterator<Item = Sight<'a>> {
    subject.calls().filter_map(|call| Some(Sight::of_call(&RULE, call, subject_of(subject, call)?)))
}

/// The object that a call blocks on, in words.
fn subject_of(subject: &Subject<'_>, call: &Call) -> Option<String> {
    let name = subject.name_of(call);
    if FILE_SYSTEM.contains(&name) {
        return Some(name.to_owned());
    }
    if !TRANSFER.contains(&name) {
        return None;
    }
    let number = i32::try_from(call.arguments[0]).ok()?;
    let targets = subject.places.files(number);
    if targets.iter().all(|target| *target == NULL) && !targets.is_empty() {
        return None;
    }
    let direction = if writes(name) { "to" } else { "from" };
    let slow = targets.iter().find(|target| is_file(target) || is_terminal(target));
    let waited = writes(name) && call.waited_ns > 0;
    match (slow, targets.first()) {
        (Some(target), _) => Some(format!("{name} {direction} {target}")),
        // A pipe or socket that is printed to is read by a program without promises.
        (None, Some(target)) if waited || (writes(name) && PRINTED.contains(&number)) => {
            Some(format!("{name} {direction} {target}"))
        }
        (None, None) if waited || (writes(name) && PRINTED.contains(&number)) => {
            Some(format!("{name} {direction} open file {number}"))
        }
        _ => None,
    }
}

/// A path outside of /dev is a file of a file system; devices have drivers that answer at once or not at all.
fn is_file(target: &str) -> bool {
    let virtual_files = ["/dev/", "/proc/", "/sys/", "/memfd:"];
    target.starts_with('/') && !virtual_files.iter().any(|start| target.starts_with(start))
}

fn is_terminal(target: &str) -> bool {
    target.starts_with("/dev/pts/") || target == "/dev/tty" || target == "/dev/console"
}
