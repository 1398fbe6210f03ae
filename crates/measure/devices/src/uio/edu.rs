//! The device edu of QEMU, which raises an interrupt when a register asks for one.

use super::line::Registers;
use crate::kernel::pci_window::PciWindow;
use std::io;
use std::path::Path;

const REGISTERS_BYTES: usize = 4096;
const STATUS: usize = 0x24;
const RAISE: usize = 0x60;
const ACKNOWLEDGE: usize = 0x64;

pub struct Edu(PciWindow);

impl Edu {
    pub fn open(device: &Path) -> io::Result<Self> {
        let edu = Self(PciWindow::map(&device.join("resource0"), REGISTERS_BYTES)?);
        edu.0.write(ACKNOWLEDGE, u32::MAX);
        Ok(edu)
    }
}

/// The status bit of a stimulus: one that is given before the previous one was acknowledged is not lost with it.
fn bit(number: u8) -> u32 {
    1 << (number % 32)
}

impl Registers for Edu {
    #[inline]
    fn raise(&self, number: u8) {
        self.0.write(RAISE, bit(number));
    }

    #[inline]
    fn handle(&self, number: u8) {
        self.0.write(ACKNOWLEDGE, self.0.read(STATUS) & bit(number));
    }
}

impl Drop for Edu {
    fn drop(&mut self) {
        self.0.write(ACKNOWLEDGE, u32::MAX);
    }
}
