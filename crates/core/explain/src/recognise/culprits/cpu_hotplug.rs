//! A CPU is brought online or offline.

use super::about::{About, Proof, SWITCHED};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::named::{NOTHING, Named};
use archive::culprit::NamedHolders;

pub const ABOUT: About = About {
    recognised: "a thread called cpuhp/N has the CPU while the thread could run",
    events: SWITCHED,
    shows: "the thread by name had the CPU after the wake-up",
    reading: &["CPU hotplug in the Kernel"],
    proof: Proof::MadeUp,
    refuted_by: &[],
};

const NAMED: Named = Named { threads: &["cpuhp/*"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    NAMED.look(case)
}
