//! Words about thread-frozen: the thread was frozen.

use super::{Advice, FindingWords};
use crate::figures::latency;
use crate::holders::task;
use crate::voice::Share;
use archive::culprit::{FreezeSign, Frozen};

pub const ADVICE: Advice = Advice {
    title: "the thread was frozen",
    confirm: "cgroup.freeze or freezer.state of its control group; cgroup:cgroup_freeze; docker pause, a suspend, a checkpoint (CRIU)",
    fix: "do not freeze the control group of the process during a measurement; such a sample says nothing about the kernel",
};

pub fn words(facts: &Frozen, share: Share) -> FindingWords {
    let thread = share.voice.thread();
    // A thread that left the CPU earlier may have been stopped.
    let what = match facts.sign {
        FreezeSign::TimerCancelled | FreezeSign::NoTimer if facts.began_earlier => "frozen, stopped or traced",
        _ => "frozen",
    };
    let since = if facts.began_earlier { "at least " } else { "" };
    FindingWords {
        evidence: vec![sign(facts.sign).into(), format!("the whole sleep took {since}{}", latency(facts.slept_ns))],
        ..ADVICE.with(format!("{thread} was {what} until {} resumed it ({share})", task(&facts.resumed_by)))
    }
}

fn sign(sign: FreezeSign) -> &'static str {
    match sign {
        FreezeSign::Thawed => "the task that woke it thawed a control group just before",
        FreezeSign::TimerWokeNobody => "its timer expired and did not wake it, as no timer wakes a frozen thread",
        FreezeSign::TimerCancelled => {
            "its timer was due and did not expire while it slept without heeding signals: a freeze interrupts the sleep that the \
             timer ends, and cancels the timer"
        }
        FreezeSign::NoTimer => "it slept without having started a timer, which it never does on its own account",
    }
}
