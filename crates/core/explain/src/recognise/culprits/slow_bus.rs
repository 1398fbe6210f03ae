//! Drivers that transfer single bytes to a slow device: serial ports, SPI, I2C, GPIO.

use super::about::{About, Proof};
use super::named::Named;
use crate::recognise::case::{Case, Claim};

pub const ABOUT: About = About {
    recognised: "the interrupt of a serial port, of SPI, I2C or GPIO, or its thread, is served",
    confirm: "the time of the handler grows with the bytes: irq:irq_handler_entry and irq:irq_handler_exit beside the traffic",
    fix: "let the driver use DMA, lower the FIFO level that triggers it (rx_trig_bytes of a serial port), run its handler in a thread (threadirqs), or another console",
    reading: &["SMP IRQ affinity"],
    proof: Proof::MadeUp,
};

const NAMED: Named = Named {
    threads: &["spi*"],
    functions: &["serial8250_*", "pl011_*", "spi_*", "i2c_*"],
    interrupts: &[
        "ttyS*", "ttyAMA*", "serial*", "*.serial", "*.uart", "pl011*", "uart-*", "spi*", "*.spi", "i2c*", "*.i2c",
        "gpio*", "*.gpio",
    ],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    NAMED.look(case, &ABOUT, "a slow bus needed the CPU")
}
