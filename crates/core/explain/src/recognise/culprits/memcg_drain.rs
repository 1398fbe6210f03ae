//! The CPU's stock of memory charged to a control group is drained.

use super::about::{About, Proof};
use super::named::{NOTHING, Named};
use crate::recognise::case::{Case, Claim};

pub const ABOUT: About = About {
    recognised: "a worker executes drain_local_stock, drain_local_memcg_stock or flush_memcg_stats_dwork while the thread could run",
    confirm: "the events workqueue:workqueue_execute_start with these functions on this CPU",
    fix: "use a newer kernel, which spares isolated CPUs; else do not create or remove memory cgroups, and let none reach its limit, while real-time work runs",
    reading: &["Control Group v2", "Workqueue"],
    proof: Proof::MadeUp,
};

const NAMED: Named = Named {
    functions: &["drain_local_stock", "drain_local_memcg_stock", "drain_local_obj_stock", "flush_memcg_stats_dwork"],
    ..NOTHING
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    NAMED.look(case, &ABOUT, "the kernel drained the cached charges of a memory control group")
}
