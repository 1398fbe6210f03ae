//! Serial ports: raw, without handshake, at a speed; and as they were before.

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::termios::{
    ControlModes, InputModes, LocalModes, OptionalActions, OutputModes, QueueSelector, SpecialCodeIndex, Termios,
    tcflush, tcgetattr, tcsetattr,
};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// The driver passes received bytes on at once instead of by a worker (ASYNC_LOW_LATENCY of linux/tty_flags.h).
const LOW_LATENCY: libc::c_int = 1 << 13;

/// Bits of the control modes that encode the speeds (CBAUD and CIBAUD of asm-generic/termbits.h). The kernel writes the same
/// speed in several ways, and the speeds are kept as numbers.
const SPEED_BITS: u32 = 0x100f_100f;

/// Major numbers of /dev/pts (Documentation/admin-guide/devices.txt of the kernel).
const PSEUDO_TERMINALS: RangeInclusive<u32> = 136..=143;

/// The settings of a port that its use changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortSettings {
    /// Input, output, control and local modes of termios.
    modes: [u32; 4],
    speeds: [u32; 2],
    /// VMIN and VTIME.
    reads: [u8; 2],
    /// Flags of the driver, where it has any: USB adapters have none.
    flags: Option<i32>,
}

/// Opens a port without waiting for a carrier.
///
/// # Errors
/// Errors of open(2); ENOTTY if it is no serial port.
pub fn open_port(path: &Path) -> io::Result<File> {
    // Opening another device may do something: a watchdog starts to run.
    if !is_terminal_device(path)? {
        return Err(io::Error::from_raw_os_error(libc::ENOTTY));
    }
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let port = File::from(open(path, flags, Mode::empty())?);
    tcgetattr(&port)?;
    rustix::io::ioctl_fionbio(&port, false)?;
    Ok(port)
}

/// Whether the kernel lists a device as a terminal. Pseudo-terminals have fixed numbers instead.
fn is_terminal_device(path: &Path) -> io::Result<bool> {
    let about = std::fs::metadata(path)?;
    if !about.file_type().is_char_device() {
        return Ok(false);
    }
    let (major, minor) = (rustix::fs::major(about.rdev()), rustix::fs::minor(about.rdev()));
    let subsystem = || std::fs::read_link(format!("/sys/dev/char/{major}:{minor}/subsystem"));
    let is_tty = || subsystem().is_ok_and(|link| link.file_name().is_some_and(|name| name == "tty"));
    Ok(PSEUDO_TERMINALS.contains(&major) || is_tty())
}

/// Keeps out other programs that lock ports.
///
/// # Errors
/// EWOULDBLOCK if another program has locked it.
pub fn lock(port: &File) -> io::Result<()> {
    Ok(flock(port, FlockOperation::NonBlockingLockExclusive)?)
}

/// The settings of a port as they are.
///
/// # Errors
/// Errors of tcgetattr(3).
pub fn settings(port: &File) -> io::Result<PortSettings> {
    let now = tcgetattr(port)?;
    let code = |index| now.special_codes[index];
    let control = now.control_modes.bits() & !SPEED_BITS;
    Ok(PortSettings {
        modes: [now.input_modes.bits(), now.output_modes.bits(), control, now.local_modes.bits()],
        speeds: [now.input_speed(), now.output_speed()],
        reads: [code(SpecialCodeIndex::VMIN), code(SpecialCodeIndex::VTIME)],
        flags: flags(port).ok(),
    })
}

/// Every byte passes as it is and at once, at this speed.
///
/// # Errors
/// Errors of tcsetattr(3), such as EINVAL for a speed that the port does not have.
pub fn set_raw(port: &File, baud: u32) -> io::Result<()> {
    let mut raw = tcgetattr(port)?;
    raw.make_raw();
    raw.control_modes |= ControlModes::CLOCAL | ControlModes::CREAD;
    raw.control_modes -= ControlModes::CRTSCTS | ControlModes::CSTOPB;
    raw.set_speed(baud)?;
    tcsetattr(port, OptionalActions::Flush, &raw)?;
    if let Ok(now) = flags(port) {
        // Not every driver permits it; without it a byte takes the way through a worker.
        let _ = set_flags(port, now | LOW_LATENCY);
    }
    Ok(())
}

/// Sets a port back and forgets what was not sent, which would delay the close.
///
/// # Errors
/// Errors of tcsetattr(3).
pub fn restore(port: &File, before: &PortSettings) -> io::Result<()> {
    tcflush(port, QueueSelector::IOFlush)?;
    if let Some(flags) = before.flags {
        set_flags(port, flags)?;
    }
    let mut settings: Termios = tcgetattr(port)?;
    let [input, output, control, local] = before.modes;
    settings.input_modes = InputModes::from_bits_retain(input);
    settings.output_modes = OutputModes::from_bits_retain(output);
    let speeds = settings.control_modes.bits() & SPEED_BITS;
    settings.control_modes = ControlModes::from_bits_retain(control & !SPEED_BITS | speeds);
    settings.local_modes = LocalModes::from_bits_retain(local);
    [settings.special_codes[SpecialCodeIndex::VMIN], settings.special_codes[SpecialCodeIndex::VTIME]] = before.reads;
    settings.set_input_speed(before.speeds[0])?;
    settings.set_output_speed(before.speeds[1])?;
    Ok(tcsetattr(port, OptionalActions::Now, &settings)?)
}

/// `struct serial_struct` of linux/serial.h.
#[repr(C)]
struct SerialStruct {
    kind: libc::c_int,
    line: libc::c_int,
    port: libc::c_uint,
    irq: libc::c_int,
    flags: libc::c_int,
    xmit_fifo_size: libc::c_int,
    custom_divisor: libc::c_int,
    baud_base: libc::c_int,
    close_delay: libc::c_ushort,
    io_type: libc::c_char,
    reserved_char: [libc::c_char; 1],
    hub6: libc::c_int,
    closing_wait: libc::c_ushort,
    closing_wait2: libc::c_ushort,
    iomem_base: *mut libc::c_uchar,
    iomem_reg_shift: libc::c_ushort,
    port_high: libc::c_uint,
    iomap_base: libc::c_ulong,
}

fn read(port: &File) -> io::Result<SerialStruct> {
    // SAFETY: a structure of integers and a pointer, for which zeros are valid.
    let mut settings: SerialStruct = unsafe { std::mem::zeroed() };
    // SAFETY: the request writes one such structure, which is live.
    match unsafe { libc::ioctl(port.as_raw_fd(), libc::TIOCGSERIAL as _, &raw mut settings) } {
        0 => Ok(settings),
        _ => Err(io::Error::last_os_error()),
    }
}

fn flags(port: &File) -> io::Result<libc::c_int> {
    Ok(read(port)?.flags)
}

fn set_flags(port: &File, flags: libc::c_int) -> io::Result<()> {
    let settings = SerialStruct { flags, ..read(port)? };
    // SAFETY: the request reads one such structure, which is live.
    match unsafe { libc::ioctl(port.as_raw_fd(), libc::TIOCSSERIAL as _, &raw const settings) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::pty;

    #[test]
    fn a_port_is_raw_while_it_is_used_and_then_as_before() {
        let (_near, far) = pty::pair().unwrap();
        let before = settings(&far).unwrap();
        set_raw(&far, 9_600).unwrap();
        let raw = settings(&far).unwrap();
        assert!(raw != before && raw.speeds == [9_600, 9_600], "{raw:?}");
        restore(&far, &before).unwrap();
        assert_eq!(settings(&far).unwrap(), before);
        let stored = serde_json::to_string(&before).unwrap();
        assert_eq!(serde_json::from_str::<PortSettings>(&stored).unwrap(), before);
    }

    #[test]
    fn a_file_is_not_opened_as_a_port() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for path in [file.path(), Path::new("/dev/null"), Path::new("/dev/zero")] {
            assert_eq!(open_port(path).unwrap_err().raw_os_error(), Some(libc::ENOTTY), "{path:?}");
        }
    }
}
