//! Methods whose stimulus is the interrupt of a device, and the timer beside them.

use super::{Case, measure};

/// The machine itself: a host that is too busy for the other cases fails here.
#[test]
#[ignore = "boots virtual machines: make e2e-methods"]
fn timer() {
    let case = Case { median_us: 83.0, ..Case::default() };
    measure(&[case, Case { kernel: "debian:6.1", median_us: 83.0, ..case }]);
}

const RT: &str = "debian:6.1-rt";
const STOCK: &str = "debian:6.1";

#[test]
#[ignore = "boots virtual machines: make e2e-methods"]
fn rtc() {
    // The reference has figures from the interrupt only; these were measured here, with the call that starts the clock in them.
    let case = Case { method: "rtc", kernel: RT, median_us: 300.0, period_us: 977, ..Case::default() };
    let interrupt = Case { method: "rtc:sample=interrupt", median_us: 53.0, ..case };
    measure(&[
        case,
        Case { kernel: STOCK, median_us: 250.0, ..case },
        interrupt,
        Case { kernel: STOCK, median_us: 68.6, ..interrupt },
    ]);
}

#[test]
#[ignore = "boots virtual machines: make e2e-methods"]
fn hpet() {
    let case = Case { method: "hpet", kernel: RT, median_us: 112.0, period_us: 977, ..Case::default() };
    let registers = &["--append", "hpet_mmap=1"];
    let expiry = Case { method: "hpet:sample=expiry", machine: registers, ..case };
    measure(&[
        case,
        Case { kernel: STOCK, median_us: 56.0, ..case },
        expiry,
        Case { kernel: STOCK, median_us: 56.0, ..expiry },
    ]);
}

const EDU: &[&str] = &["--qemu-arg", "-device", "--qemu-arg", "edu", "--load-module", "uio_pci_generic"];
/// A card with a 16550, whose wire leads nowhere: the method sets it to loopback.
const UART: &[&str] = &[
    "--qemu-arg",
    "-chardev",
    "--qemu-arg",
    "null,id=wire",
    "--qemu-arg",
    "-device",
    "--qemu-arg",
    "pci-serial,chardev=wire,addr=0x5",
    "--load-module",
    "uio_pci_generic",
];

#[test]
#[ignore = "boots virtual machines: make e2e-methods"]
fn uio() {
    let edu =
        Case { method: "uio:kind=edu,sample=stimulus", kernel: RT, median_us: 132.0, machine: EDU, ..Case::default() };
    // The kernel's own driver of serial ports has the card by then.
    let uart =
        Case { method: "uio:device=0000:00:05.0", kernel: RT, median_us: 163.0, machine: UART, ..Case::default() };
    measure(&[
        edu,
        Case { kernel: STOCK, median_us: 60.6, ..edu },
        uart,
        Case { kernel: STOCK, median_us: 116.0, ..uart },
    ]);
}
