//! Automatic NUMA balancing unmaps pages and moves them.

use super::about::{About, Proof};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::named::{NOTHING, Named};
use archive::culprit::NamedHolders;

pub const ABOUT: About = About {
    recognised: "task_numa_work or migration of pages holds the CPU; no event that is always recorded shows it",
    events: &[],
    shows: "a function by name, where functions are recorded",
    reading: &["Documentation for /proc/sys/kernel/"],
    proof: Proof::Unproven,
    refuted_by: &[],
};

const NAMED: Named = Named { functions: &["task_numa_work", "change_prot_numa", "migrate_misplaced_*"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    NAMED.look(case)
}
