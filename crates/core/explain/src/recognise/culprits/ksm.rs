//! The kernel merges equal pages.

use super::about::{About, Proof, SWITCHED};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::named::{NOTHING, Named};
use archive::culprit::NamedHolders;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "the thread ksmd has the CPU while the thread could run",
    events: SWITCHED,
    shows: "the thread by name had the CPU after the wake-up",
    reading: &["Kernel Samepage Merging"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[],
};

const NAMED: Named = Named { threads: &["ksmd"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    NAMED.look(case)
}
