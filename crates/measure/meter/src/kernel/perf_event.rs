//! Opens an event of the kernel's perf subsystem (perf_event_open(2)).
//!
//! The call is unsafe because attributes may hold the address of a text; [`open`] passes on that condition alone.

use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;

/// The kernel's `struct perf_event_attr` of version 3.
#[repr(C)]
#[derive(Default)]
pub struct Attributes {
    pub kind: u32,
    /// Set by [`open`].
    pub bytes: u32,
    pub config: u64,
    pub sample_period: u64,
    pub sample_type: u64,
    pub read_format: u64,
    pub flags: u64,
    pub wakeup_watermark: u32,
    pub breakpoint_type: u32,
    pub config1: u64,
    pub config2: u64,
    pub branch_sample_type: u64,
    pub sample_regs_user: u64,
    pub sample_stack_user: u32,
    pub clock: i32,
}

/// Kind of the events that the kernel counts without hardware.
pub const KIND_SOFTWARE: u32 = 1;
/// Time of the thread on the CPU, in ns.
pub const SOFTWARE_TASK_CLOCK: u64 = 1;
/// Times that the thread gave up the CPU.
pub const SOFTWARE_CONTEXT_SWITCHES: u64 = 3;
pub const SAMPLE_TID: u64 = 1 << 1;
pub const SAMPLE_TIME: u64 = 1 << 2;
pub const SAMPLE_CALL_CHAIN: u64 = 1 << 5;
pub const SAMPLE_USER_REGISTERS: u64 = 1 << 12;
pub const SAMPLE_USER_STACK: u64 = 1 << 13;
pub const FLAG_DISABLED: u64 = 1;
/// Records other than samples have thread and time, too.
pub const FLAG_TIME_EVERYWHERE: u64 = 1 << 18;
pub const FLAG_USE_CLOCK: u64 = 1 << 25;
/// A record of each switch of the thread.
pub const FLAG_SWITCHES: u64 = 1 << 26;
pub const FLAG_WRITE_BACKWARD: u64 = 1 << 27;
pub const ENABLE: libc::c_ulong = 0x2400;
/// Sets whether the kernel writes no records.
pub const PAUSE_OUTPUT: libc::c_ulong = 0x4004_2409;
/// Offset of the position of the newest record in the first page of the shared memory.
pub const DATA_HEAD: usize = 1024;
/// In place of a thread: events of a CPU, whatever runs there.
pub const EVERY_THREAD: i32 = -1;
/// In place of a CPU: events of a thread, wherever it runs.
pub const EVERY_CPU: libc::c_int = -1;

const OPEN_CLOEXEC: libc::c_ulong = 1 << 3;

/// Opens an event of a thread or a CPU.
///
/// # Safety
/// If the attributes hold the address of a text, it must be live and end with a zero.
///
/// # Errors
/// ENOENT and ENOSYS of a kernel without such events, EACCES and EPERM without the right to record them, ESRCH without the thread.
pub unsafe fn open(attributes: &mut Attributes, tid: i32, cpu: libc::c_int) -> io::Result<File> {
    attributes.bytes = size_of::<Attributes>() as u32;
    // SAFETY: the attributes are live and as long as they say; the caller answers for the text.
    let event =
        unsafe { libc::syscall(libc::SYS_perf_event_open, std::ptr::from_mut(attributes), tid, cpu, -1, OPEN_CLOEXEC) };
    if event < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { File::from_raw_fd(event as i32) })
}
