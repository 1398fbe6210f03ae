//! Words about slow-bus: serial port, SPI, I2C or GPIO.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "serial port, SPI, I2C or GPIO",
    confirm: "the time of the handler grows with the bytes: irq:irq_handler_entry and irq:irq_handler_exit beside the traffic",
    fix: "let the driver use DMA, lower the FIFO level that triggers the interrupt (rx_trig_bytes of a serial port), run the handler in a thread (threadirqs), or another console",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "a slow bus needed the CPU")
}
