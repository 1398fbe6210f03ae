//! ACPI: platform events, the embedded controller, batteries and thermal zones.

use super::about::{About, Proof, SERVED};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::named::Named;
use archive::culprit::NamedHolders;

pub const ABOUT: About = About {
    recognised: "the ACPI interrupt or its thread is served, or a worker executes acpi_* while the thread could run",
    events: SERVED,
    shows: "the interrupt, its thread or a worker by name, between its first and its last event",
    reading: &["The kernel's command-line parameters"],
    proof: Proof::MadeUp,
    refuted_by: &[],
};

const NAMED: Named = Named {
    threads: &["kacpid", "kacpi_notify*", "kacpi_hotplug*"],
    functions: &["acpi_*"],
    interrupts: &["acpi", "ACPI:*"],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    NAMED.look(case)
}
