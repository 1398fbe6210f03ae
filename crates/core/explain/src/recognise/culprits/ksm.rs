//! The kernel merges equal pages.

use super::about::{About, Proof};
use super::named::{NOTHING, Named};
use crate::recognise::case::{Case, Claim};

pub const ABOUT: About = About {
    recognised: "the thread ksmd has the CPU while the thread could run",
    confirm: "/sys/kernel/mm/ksm/run is 1 and full_scans beside it rises",
    fix: "echo 2 > /sys/kernel/mm/ksm/run stops it and unmerges all pages",
    reading: &["Kernel Samepage Merging"],
    proof: Proof::Real,
};

const NAMED: Named = Named { threads: &["ksmd"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    NAMED.look(case, &ABOUT, "the kernel merged identical pages")
}
