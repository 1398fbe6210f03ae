//! A PCI device through VFIO: its registers by file offsets, and one of its message-signalled interrupts as an eventfd.

use rustix::event::{EventfdFlags, eventfd};
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Requests are `_IO(';', 100 + n)`.
const CHECK_EXTENSION: u32 = 0x3b65;
const SET_IOMMU: u32 = 0x3b66;
const GROUP_STATUS: u32 = 0x3b67;
const SET_CONTAINER: u32 = 0x3b68;
const GET_DEVICE: u32 = 0x3b6a;
const REGION: u32 = 0x3b6c;
const SET_INTERRUPTS: u32 = 0x3b6e;

/// The model of an IOMMU that x86 and arm64 have.
const TYPE1: libc::c_ulong = 1;
/// Nothing but VFIO drivers has devices of the group.
const GROUP_IS_VIABLE: u32 = 1;
const BAR_0: u32 = 0;
const CONFIGURATION: u32 = 7;
const MSIX: u32 = 2;
const DATA_EVENTFD: u32 = 1 << 2;
const ACTION_TRIGGER: u32 = 1 << 5;
/// The command word in the configuration: memory and messages.
const COMMAND: u64 = 4;
const COMMAND_MEMORY_AND_MASTER: u16 = 0b110;

#[repr(C)]
#[derive(Default)]
struct GroupStatus {
    bytes: u32,
    flags: u32,
}

#[repr(C)]
#[derive(Default)]
struct Region {
    bytes: u32,
    flags: u32,
    index: u32,
    capabilities: u32,
    size: u64,
    offset: u64,
}

/// `struct vfio_irq_set` with one eventfd.
#[repr(C)]
struct Interrupts {
    bytes: u32,
    flags: u32,
    index: u32,
    start: u32,
    count: u32,
    event: i32,
}

const _: () = assert!(size_of::<Region>() == 32 && size_of::<Interrupts>() == 24);

/// A device that this process has. The kernel resets it and takes it back with the process.
#[derive(Debug)]
pub struct VfioDevice {
    device: File,
    /// Offset of the first BAR in the file.
    registers: u64,
    interrupt: File,
    _group: File,
    _container: File,
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

/// The answer of a request whose argument is a number.
fn ask(file: &File, request: u32, argument: libc::c_ulong) -> io::Result<i32> {
    // SAFETY: these requests take a number.
    match unsafe { libc::ioctl(file.as_raw_fd(), request as _, argument) } {
        answer @ 0.. => Ok(answer),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The answer of a request whose argument is a structure.
fn exchange<T>(file: &File, request: u32, argument: &mut T) -> io::Result<i32> {
    // SAFETY: each request reads and writes one structure of the type that its number names, which is live.
    match unsafe { libc::ioctl(file.as_raw_fd(), request as _, std::ptr::from_mut(argument)) } {
        answer @ 0.. => Ok(answer),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Where a region of the device is in its file.
fn region(device: &File, index: u32) -> io::Result<u64> {
    let mut region = Region { bytes: size_of::<Region>() as u32, index, ..Region::default() };
    exchange(device, REGION, &mut region)?;
    Ok(region.offset)
}

impl VfioDevice {
    /// Takes a device of a group below /dev/vfio and its first message-signalled interrupt.
    ///
    /// # Errors
    /// EBUSY for a group in use or with devices that other drivers have, and those of the requests.
    pub fn open(group: &str, address: &str) -> io::Result<Self> {
        let directory = Path::new("/dev/vfio");
        let (container, group) = (open(&directory.join("vfio"))?, open(&directory.join(group))?);
        if ask(&container, CHECK_EXTENSION, TYPE1)? == 0 {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "the module vfio_iommu_type1 is not loaded"));
        }
        let mut status = GroupStatus { bytes: size_of::<GroupStatus>() as u32, ..GroupStatus::default() };
        exchange(&group, GROUP_STATUS, &mut status)?;
        if status.flags & GROUP_IS_VIABLE == 0 {
            return Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                "other drivers have devices of the same IOMMU group; give all of them to vfio-pci",
            ));
        }
        exchange(&group, SET_CONTAINER, &mut container.as_raw_fd())?;
        ask(&container, SET_IOMMU, TYPE1)?;
        let name = CString::new(address)?;
        // SAFETY: the request reads a string, which is live and ends with a zero.
        let device = unsafe { libc::ioctl(group.as_raw_fd(), GET_DEVICE as _, name.as_ptr()) };
        if device < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made this descriptor for us.
        let device = unsafe { File::from_raw_fd(device) };
        let command_at = region(&device, CONFIGURATION)? + COMMAND;
        let mut command = [0; 2];
        device.read_exact_at(&mut command, command_at)?;
        let command = u16::from_le_bytes(command) | COMMAND_MEMORY_AND_MASTER;
        device.write_all_at(&command.to_le_bytes(), command_at)?;
        let registers = region(&device, BAR_0)?;
        let interrupt = File::from(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let mut interrupts = Interrupts {
            bytes: size_of::<Interrupts>() as u32,
            flags: DATA_EVENTFD | ACTION_TRIGGER,
            index: MSIX,
            start: 0,
            count: 1,
            event: interrupt.as_raw_fd(),
        };
        exchange(&device, SET_INTERRUPTS, &mut interrupts)?;
        Ok(Self { device, registers, interrupt, _group: group, _container: container })
    }

    /// # Errors
    /// Errors of pread(2).
    pub fn read(&self, register: u64) -> io::Result<u32> {
        let mut value = [0; 4];
        self.device.read_exact_at(&mut value, self.registers + register)?;
        Ok(u32::from_le_bytes(value))
    }

    /// # Errors
    /// Errors of pwrite(2).
    #[inline]
    pub fn write(&self, register: u64, value: u32) -> io::Result<()> {
        self.device.write_all_at(&value.to_le_bytes(), self.registers + register)
    }

    /// Can be read when an interrupt came.
    pub fn interrupt(&self) -> BorrowedFd<'_> {
        self.interrupt.as_fd()
    }

    /// Takes the interrupts that came.
    ///
    /// # Errors
    /// EAGAIN if none did.
    #[inline]
    pub fn take_interrupts(&self) -> io::Result<()> {
        (&self.interrupt).read_exact(&mut [0; 8])
    }
}
