//! All caches are written back and invalidated.

use super::about::{About, Proof};
use super::named::{NOTHING, Named};
use crate::recognise::case::{Case, Claim};

pub const ABOUT: About = About {
    recognised: "the function __wbinvd is executed for another CPU",
    confirm: "csd:csd_function_entry with func=__wbinvd; ipi:ipi_send_cpumask names the sender",
    fix: "avoid what asks for it: graphics drivers without coherent memory, ACPI C3 on old processors, changes of memory types (MTRR), confidential guests",
    reading: &["User Interface for Resource Control feature"],
    proof: Proof::MadeUp,
};

const NAMED: Named = Named { functions: &["__wbinvd", "__wbnoinvd", "wbinvd_*", "*clflush*"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    NAMED.look(case, &ABOUT, "the kernel wrote back and invalidated all caches")
}
