//! Kernel caches free memory: directory entries, inodes and others.

use super::about::{About, Proof};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::named::{NOTHING, Named};
use archive::culprit::NamedHolders;

pub const ABOUT: About = About {
    recognised: "a function of a shrinker (super_cache_scan, prune_dcache_sb, shrink_slab) holds the CPU; no event that is always recorded names it",
    events: &[],
    shows: "a function by name, where functions are recorded",
    reading: &["Documentation for /proc/sys/vm/", "ftrace - Function Tracer"],
    proof: Proof::Unproven,
    refuted_by: &[],
};

const NAMED: Named = Named {
    functions: &[
        "super_cache_scan",
        "prune_dcache_sb",
        "prune_icache_sb",
        "shrink_slab*",
        "do_shrink_slab",
        "shrink_dcache*",
        "shrink_dentry*",
        "dput_to_list",
    ],
    ..NOTHING
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    NAMED.look(case)
}
