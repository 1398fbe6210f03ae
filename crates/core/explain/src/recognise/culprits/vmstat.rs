//! The statistics of the memory management are folded, once a second on every CPU.

use super::about::{About, Proof};
use super::named::{NOTHING, Named};
use crate::recognise::case::{Case, Claim};

pub const ABOUT: About = About {
    recognised: "a worker executes vmstat_update or vmstat_shepherd while the thread could run",
    confirm: "the events workqueue:workqueue_execute_start with function=vmstat_update come once in vm.stat_interval seconds",
    fix: "sysctl vm.stat_interval=120; newer kernels spare isolated CPUs",
    reading: &["Documentation for /proc/sys/vm/", "Reducing OS jitter due to per-cpu kthreads"],
    proof: Proof::Real,
};

const NAMED: Named = Named { functions: &["vmstat_update", "vmstat_shepherd"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    NAMED.look(case, &ABOUT, "the kernel folded its memory statistics")
}
