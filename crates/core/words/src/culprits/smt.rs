//! Words about smt: the other thread of the core was busy.

use super::slowdown::slowdown;
use super::{Advice, FindingWords};
use crate::voice::Share;
use archive::culprit::{ForeignText, SmtSlowdown};

pub const ADVICE: Advice = Advice {
    title: "the other thread of the core was busy",
    confirm: "/sys/devices/system/cpu/cpuN/topology/thread_siblings_list names the sibling; compare with a run in which it is offline",
    fix: "echo off > /sys/devices/system/cpu/smt/control (nosmt), or isolate both threads of the core and leave one idle",
};

pub fn words(facts: &SmtSlowdown, share: Share) -> FindingWords {
    let SmtSlowdown { slowdown: slower, smt: ForeignText(smt) } = facts;
    FindingWords {
        evidence: vec![format!("SMT is {smt}")],
        ..ADVICE.with(format!("{} ({share}), as if the other thread of the core were busy", slowdown(slower)))
    }
}
