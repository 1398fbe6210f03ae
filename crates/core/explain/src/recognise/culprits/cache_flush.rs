//! All caches are written back and invalidated.

use super::about::{About, CALLED, Proof};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::named::{NOTHING, Named};
use archive::culprit::NamedHolders;

pub const ABOUT: About = About {
    recognised: "the function __wbinvd is executed for another CPU",
    events: CALLED,
    shows: "the function, between its entry and its exit",
    reading: &["User Interface for Resource Control feature"],
    proof: Proof::MadeUp,
    refuted_by: &[],
};

const NAMED: Named = Named { functions: &["__wbinvd", "__wbnoinvd", "wbinvd_*", "*clflush*"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    NAMED.look(case)
}
