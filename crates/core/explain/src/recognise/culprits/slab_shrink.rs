//! Kernel caches free memory: directory entries, inodes and others.

use super::about::{About, Proof};
use super::named::{NOTHING, Named};
use crate::recognise::case::{Case, Claim};

pub const ABOUT: About = About {
    recognised: "a function of a shrinker (super_cache_scan, prune_dcache_sb, shrink_slab) holds the CPU; no event that is always recorded names it",
    confirm: "--tracer function, or the events vmscan:mm_shrink_slab_start and vmscan:mm_shrink_slab_end, name the shrinker and its time",
    fix: "empty the caches before the start (echo 2 > /proc/sys/vm/drop_caches); vm.vfs_cache_pressure; no `find /` on the machine",
    reading: &["Documentation for /proc/sys/vm/", "ftrace - Function Tracer"],
    proof: Proof::Unproven,
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

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    NAMED.look(case, &ABOUT, "the kernel shrank its caches")
}
