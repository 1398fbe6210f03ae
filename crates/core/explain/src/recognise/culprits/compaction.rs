//! The kernel compacts memory to form large pages.

use super::about::{About, Proof};
use super::named::{NOTHING, Named};
use crate::recognise::case::{Case, Claim};

pub const ABOUT: About = About {
    recognised: "a thread called khugepaged or kcompactdN has the CPU while the thread could run",
    confirm: "compact_* and thp_* in /proc/vmstat rise at the same time; the events compaction:mm_compaction_begin and huge_memory:mm_collapse_huge_page bracket it",
    fix: "echo never > /sys/kernel/mm/transparent_hugepage/enabled and .../defrag; vm.compaction_proactiveness=0; vm.compact_unevictable_allowed=0 keeps locked pages where they are",
    reading: &["Transparent Hugepage Support", "Documentation for /proc/sys/vm/"],
    proof: Proof::Real,
};

const NAMED: Named = Named { threads: &["khugepaged", "kcompactd*"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    NAMED.look(case, &ABOUT, "the kernel compacted memory")
}
