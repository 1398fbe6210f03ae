//! USB host controllers.

use super::about::{About, Proof};
use super::named::Named;
use crate::recognise::case::{Case, Claim};

pub const ABOUT: About = About {
    recognised: "the interrupt of a USB host controller, or its thread, is served",
    confirm: "the rate in /proc/interrupts; 8000 a second are start-of-frame interrupts; `lsusb -t` shows what is plugged where",
    fix: "unplug it or use another port; move the interrupt (smp_affinity_list); threadirqs with a priority below ours; dtoverlay=dwc2 instead of dwc_otg on a Raspberry Pi",
    reading: &["SMP IRQ affinity"],
    proof: Proof::MadeUp,
};

const NAMED: Named = Named {
    threads: &["usb-storage", "usb_storage"],
    functions: &["usb_*", "hub_*", "xhci_*"],
    interrupts: &["xhci*", "ehci*", "ohci*", "uhci*", "dwc_otg*", "dwc2*", "dwc3*", "musb*", "*.usb"],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    NAMED.look(case, &ABOUT, "a USB controller needed the CPU")
}
