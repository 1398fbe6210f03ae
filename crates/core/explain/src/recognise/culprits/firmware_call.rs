//! The kernel calls the firmware of the board: mailboxes, SCMI, secure monitor calls.

use super::about::{About, Proof};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::named::{NOTHING, Named};
use archive::culprit::NamedHolders;

pub const ABOUT: About = About {
    recognised: "the interrupt of a mailbox is served, or a function of SCMI, of the Raspberry Pi firmware or of secure monitor calls holds the CPU",
    events: &[],
    shows: "a mailbox' interrupt or a function by name; the time in the firmware has no event",
    reading: &["ftrace - Function Tracer"],
    proof: Proof::Unproven,
    refuted_by: &[],
};

const NAMED: Named = Named {
    functions: &[
        "scmi_*",
        "rpi_firmware_*",
        "__arm_smccc_*",
        "arm_smccc_*",
        "psci_*",
        "optee_*",
        "zynqmp_*",
        "ti_sci_*",
    ],
    interrupts: &["*mailbox*", "*mbox*", "scmi*"],
    ..NOTHING
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    NAMED.look(case)
}
