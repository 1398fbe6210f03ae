//! A CPU is brought up or down.

use super::about::{About, Proof};
use super::named::{NOTHING, Named};
use crate::recognise::case::{Case, Claim};

pub const ABOUT: About = About {
    recognised: "a thread called cpuhp/N has the CPU while the thread could run",
    confirm: "dmesg names the CPU; the events cpuhp:cpuhp_enter and cpuhp:cpuhp_exit name each step",
    fix: "leave /sys/devices/system/cpu/cpu*/online alone while real-time work runs, and what does that for you (power daemons, thermal hotplug)",
    reading: &["CPU hotplug in the Kernel"],
    proof: Proof::MadeUp,
};

const NAMED: Named = Named { threads: &["cpuhp/*"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    NAMED.look(case, &ABOUT, "a CPU was being brought up or down")
}
