//! Words about late-arm: the timer was set after it was due.

use super::{Advice, FindingWords};
use crate::figures::latency;
use crate::holders::holder;
use crate::voice::{Share, Voice};
use archive::culprit::LateArm;

pub const ADVICE: Advice = Advice {
    title: "the timer was set after it was due",
    confirm: "explain the previous wake-up: its lateness is the cause",
    fix: "fix the previous cycle, or use a longer interval",
};

pub fn words(facts: &LateArm, share: Share) -> FindingWords {
    let Voice { watched, sample } = share.voice;
    let meanwhile = match &facts.meanwhile {
        Some(who) => format!("{} had the CPU for most of it", holder(who)),
        None => "the trace does not show what had the CPU for most of it".into(),
    };
    let overran = facts.previous_seen_ns.is_some_and(|seen_ns| seen_ns > 0);
    let sentence = if !sample.is_wake_up() {
        format!("the thread was still busy with its previous cycle when {} ({share}); {meanwhile}", sample.begun)
    } else if overran {
        format!(
            "the previous wake-up was so late that the thread set this timer after it was due ({share}); {meanwhile}"
        )
    } else {
        format!("the thread set its timer only after the wake-up was due ({share}); {meanwhile}")
    };
    let previous = facts.previous_seen_ns.map(|seen_ns| {
        let (side, apart) = (if seen_ns > 0 { "after" } else { "before" }, latency(seen_ns.abs()));
        match sample.is_wake_up() {
            true => format!("the thread saw its previous wake-up {apart} {side} this one was due"),
            false => format!("its previous sample ended {apart} {side} {}", sample.begun),
        }
    });
    let (confirm, fix) = match watched {
        None => (
            format!("explain the previous {}: its lateness is the cause", sample.one),
            format!("fix the previous cycle, or use an interval longer than {}", latency(facts.interval_ns)),
        ),
        Some(_) => {
            ("look at the previous cycle: it overran".into(), "do less work in a cycle, or use a longer cycle".into())
        }
    };
    FindingWords { sentence, evidence: previous.into_iter().collect(), confirm, fix }
}
