//! The kernel reclaims memory: its reclaim threads.

use super::about::{About, Proof, SWITCHED};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::named::{NOTHING, Named};
use archive::culprit::NamedHolders;

pub const ABOUT: About = About {
    recognised: "a thread called kswapdN, or kworker with a reclaim function, has the CPU while the thread could run",
    events: SWITCHED,
    shows: "the thread by name had the CPU after the wake-up",
    reading: &["Documentation for /proc/sys/vm/", "Control Group v2"],
    proof: Proof::MadeUp,
    refuted_by: &[],
};

const NAMED: Named = Named { threads: &["kswapd*"], functions: &["shrink_node*"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    NAMED.look(case)
}
