//! A CPU is brought online or offline.

use super::about::{About, Proof};
use super::named::{NOTHING, Named};
use crate::recognise::case::{Case, Claim};

pub const ABOUT: About = About {
    recognised: "a thread called cpuhp/N has the CPU while the thread could run",
    confirm: "dmesg names the CPU; the events cpuhp:cpuhp_enter and cpuhp:cpuhp_exit name each step",
    fix: "do not take CPUs on- or offline while real-time work runs, by hand or by a power daemon or thermal hotplug",
    reading: &["CPU hotplug in the Kernel"],
    proof: Proof::MadeUp,
};

const NAMED: Named = Named { threads: &["cpuhp/*"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    NAMED.look(case, &ABOUT, "a CPU was going online or offline")
}
