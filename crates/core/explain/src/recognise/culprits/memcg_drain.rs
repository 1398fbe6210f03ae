//! The CPU's stock of memory charged to a control group is drained.

use super::about::{About, Proof, WORKED};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::named::{NOTHING, Named};
use archive::culprit::NamedHolders;

pub const ABOUT: About = About {
    recognised: "a worker executes drain_local_stock, drain_local_memcg_stock or flush_memcg_stats_dwork while the thread could run",
    events: WORKED,
    shows: "the worker and its function",
    reading: &["Control Group v2", "Workqueue"],
    proof: Proof::MadeUp,
    refuted_by: &[],
};

const NAMED: Named = Named {
    functions: &["drain_local_stock", "drain_local_memcg_stock", "drain_local_obj_stock", "flush_memcg_stats_dwork"],
    ..NOTHING
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    NAMED.look(case)
}
