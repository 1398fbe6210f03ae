//! Words about usb: USB controller.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "USB controller",
    confirm: "the rate in /proc/interrupts; 8000 a second are start-of-frame interrupts; `lsusb -t` shows what is plugged where",
    fix: "unplug the device or use another port; move the interrupt (smp_affinity_list); threadirqs with a priority below the late thread's; dtoverlay=dwc2 instead of dwc_otg on a Raspberry Pi",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "a USB controller needed the CPU")
}
