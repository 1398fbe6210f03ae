//! A serial port of the 16550 kind on a PCI card, in loopback: a byte that is sent is received at once, without a wire.

use super::line::Registers;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Registers; the first two have other meanings while the divisor is set.
const DATA: u64 = 0;
const INTERRUPTS: u64 = 1;
const FIFO: u64 = 2;
const LINE: u64 = 3;
const MODEM: u64 = 4;
const STATUS: u64 = 5;

const ON_RECEIVED: u8 = 0x01;
/// On, both halves emptied; an interrupt for each byte.
const FIFO_EMPTIED: u8 = 0x07;
const DIVISOR: u8 = 0x80;
const EIGHT_BITS: u8 = 0x03;
const LOOPBACK: u8 = 0x10;
const RECEIVED: u8 = 0x01;
/// Bytes that the port may hold.
const FIFO_BYTES: usize = 16;

/// The registers are ports, which the file in sysfs reads and writes one by one, on every architecture.
pub struct Uart(File);

impl Uart {
    pub fn open(device: &Path) -> io::Result<Self> {
        let uart = Self(OpenOptions::new().read(true).write(true).open(device.join("resource0"))?);
        for (register, value) in [
            (INTERRUPTS, 0),
            (LINE, DIVISOR | EIGHT_BITS),
            // 115200 baud, as far as the loopback cares.
            (DATA, 1),
            (INTERRUPTS, 0),
            (LINE, EIGHT_BITS),
            (FIFO, FIFO_EMPTIED),
            (MODEM, LOOPBACK),
            (INTERRUPTS, ON_RECEIVED),
        ] {
            uart.write(register, value)?;
        }
        Ok(uart)
    }

    fn write(&self, register: u64, value: u8) -> io::Result<()> {
        self.0.write_all_at(&[value], register)
    }

    fn read(&self, register: u64) -> io::Result<u8> {
        let mut value = [0];
        self.0.read_exact_at(&mut value, register).map(|()| value[0])
    }
}

impl Registers for Uart {
    #[inline]
    fn raise(&self, number: u8) {
        let _ = self.write(DATA, number);
    }

    /// Reads up to the byte of the stimulus: a later one raises its own interrupt.
    #[inline]
    fn handle(&self, number: u8) {
        for _ in 0..FIFO_BYTES {
            if self.read(STATUS).is_ok_and(|status| status & RECEIVED == 0)
                || self.read(DATA).is_ok_and(|byte| byte == number)
            {
                return;
            }
        }
    }
}

impl Drop for Uart {
    fn drop(&mut self) {
        let _ = self.write(INTERRUPTS, 0);
        let _ = self.write(MODEM, 0);
        let _ = self.write(FIFO, 0);
    }
}
