//! The kernel patches its own code: all CPUs have to synchronise.

use super::about::{About, Proof};
use super::named::{NOTHING, Named};
use crate::recognise::case::{Case, Claim};

pub const ABOUT: About = About {
    recognised: "the function do_sync_core is executed for another CPU",
    confirm: "ipi:ipi_send_cpumask with callback=do_sync_core names the sender; static keys, tracepoints, probes and BPF programs do it",
    fix: "switch no tracer, probe, BPF program or network feature on or off while real-time work runs: arm everything before",
    reading: &["Static Keys", "ftrace - Function Tracer"],
    proof: Proof::MadeUp,
};

const NAMED: Named = Named { functions: &["do_sync_core"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    NAMED.look(case, &ABOUT, "the kernel patched its own code")
}
