//! The kernel calls the firmware of the board: mailboxes, SCMI, secure monitor calls.

use super::about::{About, Proof};
use super::named::{NOTHING, Named};
use crate::recognise::case::{Case, Claim};

pub const ABOUT: About = About {
    recognised: "the interrupt of a mailbox is served, or a function of SCMI, of the Raspberry Pi firmware or of secure monitor calls holds the CPU",
    confirm: "--tracer function_graph around arm_smccc_smc; the events scmi:scmi_xfer_begin and scmi:scmi_xfer_end",
    fix: "stop what polls it: vcgencmd, hwmon sensors, thermal zones, readers of the real-time clock",
    reading: &["ftrace - Function Tracer"],
    proof: Proof::Unproven,
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

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    NAMED.look(case, &ABOUT, "the kernel called the board's firmware")
}
