//! Words about own-work: the thread's own work.

use super::{Advice, FindingWords};
use crate::voice::Share;
use archive::culprit::{ForeignText, OwnWork};

pub const ADVICE: Advice = Advice {
    title: "the thread's own work",
    confirm: "perf record -t TID shows where it spends its time",
    fix: "do less work in a cycle, or use a longer cycle",
};

pub fn words(facts: &OwnWork, share: Share) -> FindingWords {
    let work = match facts.overran {
        true => format!(
            "the thread's own work overran its cycle ({share}): it set its timer only after the wake-up was due"
        ),
        false => format!("the thread did its own work ({share})"),
    };
    let doubt = facts.host.as_ref().map_or_else(String::new, |ForeignText(host)| {
        format!("; the trace does not show whether the hypervisor ({host}) ran the CPU for all of it")
    });
    FindingWords {
        confirm: format!("perf record -t {} shows where it spends its time", facts.tid),
        ..ADVICE.with(work + &doubt)
    }
}
