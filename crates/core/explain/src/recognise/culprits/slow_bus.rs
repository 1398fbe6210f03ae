//! Drivers that transfer single bytes to a slow device: serial ports, SPI, I2C, GPIO.

use super::about::{About, Proof, SERVED};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::named::Named;
use archive::culprit::NamedHolders;

pub const ABOUT: About = About {
    recognised: "the interrupt of a serial port, of SPI, I2C or GPIO, or its thread, is served",
    events: SERVED,
    shows: "the interrupt or its thread by name",
    reading: &["SMP IRQ affinity"],
    proof: Proof::MadeUp,
    refuted_by: &[],
};

const NAMED: Named = Named {
    threads: &["spi*"],
    functions: &["serial8250_*", "pl011_*", "spi_*", "i2c_*"],
    interrupts: &[
        "ttyS*", "ttyAMA*", "serial*", "*.serial", "*.uart", "pl011*", "uart-*", "spi*", "*.spi", "i2c*", "*.i2c",
        "gpio*", "*.gpio",
    ],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    NAMED.look(case)
}
