//! Words about waiting: the thread waited during its work.

use super::{Advice, FindingWords};
use crate::holders::{holder, task, wake_source};
use crate::trace_event::file_system_on;
use crate::voice::Share;
use archive::culprit::{AwaitedProgress, TaskName, WaitEnd, Waited, WakeSource, WrittenFile};

pub const ADVICE: Advice = Advice {
    title: "the thread waited during its work",
    confirm: "`strace -f` shows the call it waits in",
    fix: "no file, socket or device in the loop; shorten what others do under a lock",
};

pub fn words(facts: &Waited, share: Share) -> FindingWords {
    let words = match &facts.until {
        WaitEnd::Thread { woke, awaited, threads, progress } => FindingWords {
            sentence: format!(
                "it waited during its work until {} woke it ({share}){}",
                task(woke),
                kept_waiting(awaited, *threads, progress)
            ),
            evidence: Vec::new(),
            confirm: format!("`strace -f -e futex,read,poll` on both shows what it shares with {}", task(woke)),
            fix: match threads {
                1 => "shorten what the other thread does under the lock, or pass data without a lock".into(),
                _ => format!("shorten what {} does, or do not wait for it in the cycle", task(awaited)),
            },
        },
        WaitEnd::Other(what) => FindingWords {
            sentence: format!("it waited during its work for {} ({share})", source(what)),
            evidence: Vec::new(),
            confirm: "`strace -f` shows the call it waited in".into(),
            fix: "no file, socket or device in the loop: give them to a thread of lower priority".into(),
        },
    };
    match &facts.written {
        Some(file) => for_a_file(file, words),
        None => words,
    }
}

/// The same while the thread wrote out a file.
fn for_a_file(file: &WrittenFile, words: FindingWords) -> FindingWords {
    let on = file_system_on(file.file_system, file.device);
    FindingWords {
        sentence: format!("{}: it wrote out a file (fsync) on {on}", words.sentence),
        fix: "write files out in a thread of lower priority, or log to a tmpfs".into(),
        ..words
    }
}

/// The activity of the thread at the end of the chain; nothing if it is the one that woke the watched one, and ran.
fn kept_waiting(awaited: &TaskName, threads: u8, progress: &AwaitedProgress) -> String {
    let last = task(awaited);
    let which = match threads {
        1 => format!("; {last}"),
        2 => format!("; that one waited for {last}, which"),
        threads => format!("; that one waited for {last} at the end of a chain of {threads} threads, which"),
    };
    match progress {
        AwaitedProgress::Ran { .. } if threads == 1 => String::new(),
        AwaitedProgress::Ran { cpu } => format!("{which} ran on CPU {cpu}"),
        AwaitedProgress::HeldUp { cpu, holder: None } => {
            format!("{which} could not run; the trace does not show what held CPU {cpu}")
        }
        AwaitedProgress::HeldUp { cpu, holder: Some(who) } => {
            format!("{which} could not run, because {} held CPU {cpu}", holder(who))
        }
        AwaitedProgress::Slept(until) => format!("{which} waited for {}", source(until)),
    }
}

fn source(what: &WakeSource) -> String {
    wake_source(what).unwrap_or_else(|| "a device, a timer or a message".into())
}
