//! The kernel reclaims memory: its reclaim threads.

use super::about::{About, Proof};
use super::named::{NOTHING, Named};
use crate::recognise::case::{Case, Claim};

pub const ABOUT: About = About {
    recognised: "a thread called kswapdN, or kworker with a reclaim function, has the CPU while the thread could run",
    confirm: "pgscan_* and allocstall_* in /proc/vmstat rise at the same time; the events vmscan:mm_vmscan_kswapd_wake and vmscan:mm_vmscan_direct_reclaim_begin name who asked",
    fix: "allocate nothing in the real-time path; a larger vm.min_free_kbytes; put what fills the page cache into a memory cgroup with memory.high",
    reading: &["Documentation for /proc/sys/vm/", "Control Group v2"],
    proof: Proof::MadeUp,
};

const NAMED: Named = Named { threads: &["kswapd*"], functions: &["shrink_node*"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    NAMED.look(case, &ABOUT, "the kernel reclaimed memory")
}
