//! The statistics of the memory management are folded, once a second on every CPU.

use super::about::{About, Proof, WORKED};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::named::{NOTHING, Named};
use archive::culprit::NamedHolders;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "a worker executes vmstat_update or vmstat_shepherd while the thread could run",
    events: WORKED,
    shows: "the worker and its function",
    reading: &["Documentation for /proc/sys/vm/", "Reducing OS jitter due to per-cpu kthreads"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[],
};

const NAMED: Named = Named { functions: &["vmstat_update", "vmstat_shepherd"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    NAMED.look(case)
}
