//! Words about numa-balancing: automatic NUMA balancing.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "automatic NUMA balancing",
    confirm: "numa_pte_updates and numa_pages_migrated in /proc/vmstat rise; sysctl kernel.numa_balancing is not 0",
    fix: "sysctl kernel.numa_balancing=0; bind memory (numactl --membind)",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "automatic NUMA balancing ran")
}
