//! A device whose interrupt line (INTx) uio_pci_generic has: the kernel masks the line at every interrupt.

use super::Driver;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Offset of the command word in the configuration of a PCI device, and its bit that masks the interrupt line.
const COMMAND: u64 = 4;
const INTERRUPT_MASKED: u16 = 0x400;

/// The registers of a device with an interrupt line.
pub trait Registers: Send + Sync {
    /// Makes the device raise an interrupt. What the device does not take is lost: it shows as no answer.
    fn raise(&self, number: u8);

    /// Handles the interrupt of a stimulus, so that the device does not raise it any more.
    fn handle(&self, number: u8);
}

pub struct Line<R> {
    uio: File,
    configuration: File,
    registers: R,
}

impl<R: Registers> Line<R> {
    /// # Errors
    /// Errors of open(2).
    pub fn open(device: &Path, registers: R) -> io::Result<Self> {
        let configuration = OpenOptions::new().read(true).write(true).open(device.join("config"))?;
        Ok(Self { uio: device_file(device)?, configuration, registers })
    }

    fn unmask(&self) -> io::Result<()> {
        let mut command = [0; 2];
        self.configuration.read_exact_at(&mut command, COMMAND)?;
        let unmasked = u16::from_le_bytes(command) & !INTERRUPT_MASKED;
        self.configuration.write_all_at(&unmasked.to_le_bytes(), COMMAND)
    }
}

/// The device file of a device that uio_pci_generic has.
fn device_file(device: &Path) -> io::Result<File> {
    let entry = fs::read_dir(device.join("uio"))?.next().ok_or(io::ErrorKind::NotFound)??;
    OpenOptions::new().read(true).write(true).open(Path::new("/dev").join(entry.file_name()))
}

impl<R: Registers> Driver for Line<R> {
    fn interrupt(&self) -> BorrowedFd<'_> {
        self.uio.as_fd()
    }

    fn prepare(&self) -> io::Result<()> {
        self.unmask()
    }

    #[inline]
    fn raise(&self, number: u8) {
        self.registers.raise(number);
    }

    #[inline]
    fn handle(&self, number: u8) -> io::Result<()> {
        (&self.uio).read_exact(&mut [0; 4])?;
        self.registers.handle(number);
        self.unmask()
    }
}
