//! The kernel patches its own code: all CPUs have to synchronise.

use super::about::{About, CALLED, Proof};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::named::{NOTHING, Named};
use archive::culprit::NamedHolders;

pub const ABOUT: About = About {
    recognised: "the function do_sync_core is executed for another CPU",
    events: CALLED,
    shows: "the function, between its entry and its exit",
    reading: &["Static Keys", "ftrace - Function Tracer"],
    proof: Proof::MadeUp,
    refuted_by: &[],
};

const NAMED: Named = Named { functions: &["do_sync_core"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    NAMED.look(case)
}
