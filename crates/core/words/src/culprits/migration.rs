//! Words about migration: the thread was moved to another CPU.

use super::{Advice, FindingWords};
use crate::voice::Share;
use archive::culprit::Migrated;

pub const ADVICE: Advice = Advice {
    title: "the thread was moved to another CPU",
    confirm: "taskset -p TID shows the CPUs it may use",
    fix: "pin the thread to one CPU",
};

pub fn words(facts: &Migrated, share: Share) -> FindingWords {
    let thread = share.voice.thread();
    FindingWords {
        confirm: format!("taskset -p {} shows the CPUs it may use", facts.tid),
        ..ADVICE.with(format!("the scheduler moved {thread} to another CPU, which had to wake up first ({share})"))
    }
}
