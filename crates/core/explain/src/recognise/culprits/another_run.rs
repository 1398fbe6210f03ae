//! A thread of another measurement with this tool had the CPU. It is no thread of this run: those are `own_tool`'s.

use super::about::{About, Proof};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::named::{NOTHING, Named};
use archive::culprit::NamedHolders;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "a thread named as this tool names its own (tardy-cpuN, tardy:capture, tardy:follow, tardy-meter), which is not of this run, has the CPU",
    events: &["sched_switch"],
    shows: "a thread by name had the CPU after the wake-up",
    reading: &["Scheduler"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[],
};

const NAMED: Named = Named { threads: &["tardy-cpu*", "tardy:*", "tardy-meter"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    NAMED.look(case)
}
