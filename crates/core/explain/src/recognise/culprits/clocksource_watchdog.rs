//! The kernel compares its clock with another one, going from CPU to CPU.

use super::about::{About, Proof};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::named::{NOTHING, Named};
use archive::culprit::NamedHolders;

pub const ABOUT: About = About {
    recognised: "a softirq executes clocksource_watchdog (every 0.5 s) or tsc_sync_check_timer_fn (every 10 min), or the thread kwatchdog has the CPU",
    events: &["timer_expire_entry|sched_switch"],
    shows: "the function or the thread by name",
    reading: &["The kernel's command-line parameters"],
    proof: Proof::MadeUp,
    refuted_by: &[],
};

const NAMED: Named = Named {
    threads: &["kwatchdog"],
    functions: &["clocksource_watchdog*", "tsc_sync_check_timer_fn", "clocksource_verify*"],
    ..NOTHING
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    NAMED.look(case)
}
