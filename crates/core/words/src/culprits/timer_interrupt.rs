//! Words about timer-interrupt: the timer interrupt itself was slow.

use super::{Advice, FindingWords};
use crate::voice::Share;
use archive::culprit::{ForeignText, SlowTimerInterrupt};

pub const ADVICE: Advice = Advice {
    title: "the timer interrupt itself was slow",
    confirm: "the function_graph tracer on hrtimer_interrupt, on this CPU, shows the slow part",
    fix: "guest: a virtual CPU that is pinned and offers its timer to the guest; bare metal: tsc as clocksource, the TSC deadline timer",
};

pub fn words(facts: &SlowTimerInterrupt, share: Share) -> FindingWords {
    let (why, fix) = match &facts.host {
        Some(ForeignText(host)) => (
            format!("setting the timer exits the guest, and the hypervisor ({host}) takes its time"),
            "on the host: pin the virtual CPU, SCHED_FIFO for its thread, a CPU that offers its timer to the guest",
        ),
        None => (
            "waiting for a scheduler lock, or for the timer hardware".into(),
            "tsc as clocksource and the TSC deadline timer; fewer threads that wake others on this CPU",
        ),
    };
    FindingWords {
        fix: fix.into(),
        ..ADVICE
            .with(format!("the timer interrupt that brought the wake-up was itself slow ({share}): most often {why}"))
    }
}
