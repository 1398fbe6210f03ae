//! USB host controllers.

use super::about::{About, Proof, SERVED};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::named::Named;
use archive::culprit::NamedHolders;

pub const ABOUT: About = About {
    recognised: "the interrupt of a USB host controller, or its thread, is served",
    events: SERVED,
    shows: "the controller's interrupt or its thread by name",
    reading: &["SMP IRQ affinity"],
    proof: Proof::MadeUp,
    refuted_by: &[],
};

const NAMED: Named = Named {
    threads: &["usb-storage", "usb_storage"],
    functions: &["usb_*", "hub_*", "xhci_*"],
    interrupts: &["xhci*", "ehci*", "ohci*", "uhci*", "dwc_otg*", "dwc2*", "dwc3*", "musb*", "*.usb"],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    NAMED.look(case)
}
