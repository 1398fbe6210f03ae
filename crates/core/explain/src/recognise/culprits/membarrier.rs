//! A process requests a memory barrier on other CPUs.

use super::about::{About, Proof};
use super::named::{NOTHING, Named};
use crate::recognise::case::{Case, Claim};

pub const ABOUT: About = About {
    recognised: "a function of membarrier() (ipi_mb, ipi_sync_core, ipi_rseq, ipi_sync_rq_state) is executed for another CPU",
    confirm: "ipi:ipi_send_cpumask with callback=ipi_mb names the sender; `strace -e membarrier` on it",
    fix: "keep programs with just-in-time compilers and user-space RCU off the machine, or do not register the real-time program for expedited barriers",
    reading: &["membarrier() System Call"],
    proof: Proof::MadeUp,
};

const NAMED: Named = Named { functions: &["ipi_mb", "ipi_sync_core", "ipi_rseq", "ipi_sync_rq_state"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    NAMED.look_at_requests(case, &ABOUT, "another process requested a memory barrier")
}
