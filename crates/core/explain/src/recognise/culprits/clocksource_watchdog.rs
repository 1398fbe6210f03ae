//! The kernel compares its clock with another one, going from CPU to CPU.

use super::about::{About, Proof};
use super::named::{NOTHING, Named};
use crate::recognise::case::{Case, Claim};

pub const ABOUT: About = About {
    recognised: "a softirq executes clocksource_watchdog (every 0.5 s) or tsc_sync_check_timer_fn (every 10 min), or the thread kwatchdog has the CPU",
    confirm: "`dmesg | grep -i clocksource`; /sys/devices/system/clocksource/clocksource0/current_clocksource",
    fix: "tsc=reliable (or tsc=nowatchdog) on the kernel command line, once it is known that the TSC of this machine is stable",
    reading: &["The kernel's command-line parameters"],
    proof: Proof::MadeUp,
};

const NAMED: Named = Named {
    threads: &["kwatchdog"],
    functions: &["clocksource_watchdog*", "tsc_sync_check_timer_fn", "clocksource_verify*"],
    ..NOTHING
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    NAMED.look(case, &ABOUT, "the kernel checked its clock against another one")
}
