//! QEMU's debug console: an I/O port that takes bytes and never makes anybody wait.
//!
//! The bytes leave while the guest's clock stands still, so no timing of the host can come back through it, unlike with a
//! virtio or serial port. Each costs the guest one instruction and no system call.

use std::io::{self, Write};
use std::marker::PhantomData;

/// One port, open to the calling thread only.
#[derive(Debug)]
pub struct DebugConsole {
    port: u16,
    /// The kernel allows ports thread by thread, so the value stays with its own.
    not_send: PhantomData<*const ()>,
}

impl DebugConsole {
    /// Opens the port.
    ///
    /// # Errors
    /// A sentence, when the kernel refuses it or no debug console answers there.
    pub fn open(port: u16) -> Result<Self, String> {
        io_port::allow(port).map_err(|error| format!("failed to get I/O port {port:#x}: {error}"))?;
        if io_port::read(port) != READBACK {
            return Err(format!(
                "failed to find a debug console at I/O port {port:#x}: the emulator needs -device isa-debugcon"
            ));
        }
        Ok(Self { port, not_send: PhantomData })
    }
}

/// What a debug console of QEMU answers to a read, if it is not told otherwise.
const READBACK: u8 = 0xe9;

impl Write for DebugConsole {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        bytes.iter().for_each(|byte| io_port::write(self.port, *byte));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(target_arch = "x86_64")]
mod io_port {
    use std::arch::asm;
    use std::io;

    /// Allows this thread a port.
    pub fn allow(port: u16) -> io::Result<()> {
        // SAFETY: takes numbers only, and allows no more than what is asked for.
        let answer = unsafe { libc::syscall(libc::SYS_ioperm, libc::c_ulong::from(port), 1, 1) };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    pub fn read(port: u16) -> u8 {
        let byte;
        // SAFETY: the port was allowed to this thread. A debug console answers a constant; without a device the bus
        // answers all ones.
        unsafe { asm!("in al, dx", in("dx") port, out("al") byte, options(nomem, nostack, preserves_flags)) };
        byte
    }

    pub fn write(port: u16, byte: u8) {
        // SAFETY: the port was allowed to this thread, and what answered there takes any byte.
        unsafe { asm!("out dx, al", in("dx") port, in("al") byte, options(nomem, nostack, preserves_flags)) };
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod io_port {
    use std::io;

    /// Only x86-64 machines run in virtual time.
    pub fn allow(_: u16) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn read(_: u16) -> u8 {
        unreachable!("no port was allowed")
    }

    pub fn write(_: u16, _: u8) {
        unreachable!("no port was allowed")
    }
}
