//! Automatic NUMA balancing unmaps pages and moves them.

use super::about::{About, Proof};
use super::named::{NOTHING, Named};
use crate::recognise::case::{Case, Claim};

pub const ABOUT: About = About {
    recognised: "task_numa_work or migration of pages holds the CPU; no event that is always recorded shows it",
    confirm: "numa_pte_updates and numa_pages_migrated in /proc/vmstat rise; sysctl kernel.numa_balancing is not 0",
    fix: "sysctl kernel.numa_balancing=0; bind memory (numactl --membind)",
    reading: &["Documentation for /proc/sys/kernel/"],
    proof: Proof::Unproven,
};

const NAMED: Named = Named { functions: &["task_numa_work", "change_prot_numa", "migrate_misplaced_*"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    NAMED.look(case, &ABOUT, "automatic NUMA balancing ran")
}
