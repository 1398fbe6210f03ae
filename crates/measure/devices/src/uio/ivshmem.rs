//! The device ivshmem-doorbell of QEMU through VFIO: a write to its doorbell raises the message-signalled interrupt of a peer,
//! which can be the machine itself.

use super::Driver;
use crate::kernel::vfio::VfioDevice;
use std::io;
use std::os::fd::BorrowedFd;

/// Register with the number of this machine among its peers; -1 before its server has given one.
const POSITION: u64 = 8;
/// Number of the peer in the upper half, of its vector in the lower one.
const DOORBELL: u64 = 12;
const PEERS: u32 = 1 << 16;

pub struct Ivshmem {
    device: VfioDevice,
    own_vector: u32,
}

impl Ivshmem {
    pub fn open(group: &str, address: &str) -> io::Result<Self> {
        let device = VfioDevice::open(group, address)?;
        match device.read(POSITION)? {
            position @ ..PEERS => Ok(Self { device, own_vector: position << 16 }),
            _ => Err(io::Error::new(io::ErrorKind::NotConnected, "its server has given it no number")),
        }
    }
}

impl Driver for Ivshmem {
    fn interrupt(&self) -> BorrowedFd<'_> {
        self.device.interrupt()
    }

    #[inline]
    fn raise(&self, _number: u8) {
        // What the device does not take is lost: it shows as no answer.
        let _ = self.device.write(DOORBELL, self.own_vector);
    }

    #[inline]
    fn handle(&self, _number: u8) -> io::Result<()> {
        self.device.take_interrupts()
    }
}
