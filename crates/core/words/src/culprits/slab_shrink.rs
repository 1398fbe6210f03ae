//! Words about slab-shrink: the kernel shrank its caches.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "the kernel shrank its caches",
    confirm: "--tracer function, or the events vmscan:mm_shrink_slab_start and vmscan:mm_shrink_slab_end, name the shrinker and its time",
    fix: "empty the caches before the start (echo 2 > /proc/sys/vm/drop_caches); vm.vfs_cache_pressure; no `find /` on the machine",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "the kernel shrank its caches")
}
