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
    #[cfg(target_arch = "x86_64")]
    pub fn open(port: u16) -> Result<Self, String> {
        // SAFETY: takes numbers only; it allows this thread one port, at which nothing is done before it has answered.
        let answer = unsafe { libc::syscall(libc::SYS_ioperm, libc::c_ulong::from(port), 1, 1) };
        if answer != 0 {
            let error = io::Error::last_os_error();
            return Err(format!("failed to get I/O port {port:#x}: {error}; the kernel needs CONFIG_X86_IOPL_IOPERM"));
        }
        let readback: u8;
        // SAFETY: the kernel has just allowed this port. To read it has no effect: a debug console answers a constant, and
        // where there is no device the bus answers all ones.
        unsafe { std::arch::asm!("in al, dx", in("dx") port, out("al") readback, options(nomem, nostack)) };
        if readback == READBACK {
            Ok(Self { port, not_send: PhantomData })
        } else {
            Err(format!(
                "failed to find a debug console at I/O port {port:#x}: the emulator needs -device isa-debugcon"
            ))
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub fn open(port: u16) -> Result<Self, String> {
        Err(format!("failed to open I/O port {port:#x}: only x86-64 machines run in virtual time"))
    }

    #[cfg(target_arch = "x86_64")]
    fn put(&self, byte: u8) {
        // SAFETY: `open` allowed this port to the thread that has the value, which is neither Send nor cloned.
        unsafe { std::arch::asm!("out dx, al", in("dx") self.port, in("al") byte, options(nomem, nostack)) };
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn put(&self, _: u8) {}
}

/// What a debug console of QEMU answers to a read, if it is not told otherwise.
#[cfg(target_arch = "x86_64")]
const READBACK: u8 = 0xe9;

impl Write for DebugConsole {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        bytes.iter().for_each(|byte| self.put(*byte));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
