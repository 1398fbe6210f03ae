//! Words about acpi: ACPI and the embedded controller.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "ACPI and the embedded controller",
    confirm: "/sys/firmware/acpi/interrupts/gpe* counts the source; the function tracer on acpi_ev_gpe_detect",
    fix: "echo mask > /sys/firmware/acpi/interrupts/gpeNN for the one that counts; stop pollers of batteries, fans and temperatures",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "ACPI handled an event")
}
