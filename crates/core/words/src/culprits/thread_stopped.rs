//! Words about thread-stopped: the thread was stopped.

use super::{Advice, FindingWords};
use crate::figures::latency;
use crate::holders::task;
use crate::voice::Share;
use archive::culprit::{Stopped, StoppedBy};

pub const ADVICE: Advice = Advice {
    title: "the thread was stopped",
    confirm: "look for SIGSTOP, a debugger or a suspended shell job; signal:signal_generate shows who sends the signal",
    fix: "do not stop the process during a measurement; such a sample says nothing about the kernel",
};

pub fn words(facts: &Stopped, share: Share) -> FindingWords {
    let by = match &facts.by {
        StoppedBy::Task(by) => task(by),
        StoppedBy::Debugger => "a debugger".into(),
        StoppedBy::Signal => "a signal".into(),
    };
    let often = match facts.times {
        0 | 1 => String::new(),
        times => format!(" {times} times"),
    };
    let until = match (&facts.by, &facts.resumed_by) {
        (_, None) => String::new(),
        (StoppedBy::Task(by), Some(resumed_by)) if by.tid == resumed_by.tid => " and resumed it".into(),
        (_, Some(resumed_by)) => format!(", and {} resumed it", task(resumed_by)),
    };
    FindingWords {
        evidence: vec![longest(facts)],
        fix: "do not stop the process during a measurement; this sample says nothing about the kernel".into(),
        ..ADVICE.with(format!("{by} stopped {}{often}{until} ({share})", share.voice.thread()))
    }
}

fn longest(facts: &Stopped) -> String {
    let since = if facts.began_earlier { "at least " } else { "" };
    let which = if facts.times > 1 { "the longest stop took" } else { "the whole stop took" };
    format!("{which} {since}{}", latency(facts.longest_ns))
}
