//! A thread of another measurement with this tool had the CPU. It is no thread of this run: those are `own_tool`'s.

use super::about::{About, Proof};
use super::named::{NOTHING, Named};
use crate::recognise::case::{Case, Claim};

pub const ABOUT: About = About {
    recognised: "a thread named as this tool names its own (tardy-cpuN, tardy:capture, tardy:follow, tardy-meter), which is not of this run, has the CPU",
    confirm: "the run lists the other measurement (meter.another-run)",
    fix: "measure one after the other, or on CPUs that the other run leaves alone (--cpus)",
    reading: &["Scheduler"],
    proof: Proof::MadeUp,
};

const NAMED: Named = Named { threads: &["tardy-cpu*", "tardy:*", "tardy-meter"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    NAMED.look(case, &ABOUT, "another measurement with tardy ran on this machine")
}
