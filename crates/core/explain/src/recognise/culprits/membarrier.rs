//! A process requests a memory barrier on other CPUs.

use super::about::{About, CALLED, Proof};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::named::{NOTHING, Named};
use archive::culprit::NamedHolders;

pub const ABOUT: About = About {
    recognised: "a function of membarrier() (ipi_mb, ipi_sync_core, ipi_rseq, ipi_sync_rq_state) is executed for another CPU",
    events: CALLED,
    shows: "the function, between its entry and its exit",
    reading: &["membarrier() System Call"],
    proof: Proof::MadeUp,
    refuted_by: &[],
};

const NAMED: Named = Named { functions: &["ipi_mb", "ipi_sync_core", "ipi_rseq", "ipi_sync_rq_state"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    NAMED.look_at_requests(case)
}
