//! ACPI: platform events, the embedded controller, batteries and thermal zones.

use super::about::{About, Proof};
use super::named::Named;
use crate::recognise::case::{Case, Claim};

pub const ABOUT: About = About {
    recognised: "the ACPI interrupt or its thread is served, or a worker executes acpi_* while the thread could run",
    confirm: "/sys/firmware/acpi/interrupts/gpe* counts the source; the function tracer on acpi_ev_gpe_detect",
    fix: "echo mask > /sys/firmware/acpi/interrupts/gpeNN for the one that counts; stop pollers of batteries, fans and temperatures",
    reading: &["The kernel's command-line parameters"],
    proof: Proof::MadeUp,
};

const NAMED: Named = Named {
    threads: &["kacpid", "kacpi_notify*", "kacpi_hotplug*"],
    functions: &["acpi_*"],
    interrupts: &["acpi", "ACPI:*"],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    NAMED.look(case, &ABOUT, "ACPI handled an event")
}
