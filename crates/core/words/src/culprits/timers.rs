//! Words about timers: other timers in the same interrupt.

use super::{Advice, FindingWords};
use crate::voice::Share;
use archive::culprit::OtherTimers;

pub const ADVICE: Advice = Advice {
    title: "other timers in the same interrupt",
    confirm: "/proc/timer_list shows which timers this CPU has",
    fix: "keep the owners of the timers off this CPU; skew_tick=1 and an interval that is not a multiple of the tick spread expiries; nohz_full removes the tick",
};

pub fn words(facts: &OtherTimers, share: Share) -> FindingWords {
    let who = facts.function.as_ref().map_or("", |function| &function.0);
    let more = if facts.others > 0 { format!(" and {} others", facts.others) } else { String::new() };
    ADVICE.with(match facts.deferred {
        false => format!("other timers ran first in the same interrupt: {who}{more} ({share})"),
        true => format!(
            "other timers ran first: {who}{more} ({share}); they took so long that the kernel deferred the next timer interrupt"
        ),
    })
}
