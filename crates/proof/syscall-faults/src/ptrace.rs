//! ptrace(2): starts a program and stops its threads at each system call.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::ptr::null_mut;

/// A system call that a thread is about to make.
#[derive(Debug, Clone, Copy)]
pub struct Entered {
    pub number: i64,
    pub arguments: [u64; 6],
}

/// Why a thread stopped.
#[derive(Debug)]
pub enum Stop {
    Entered(Entered),
    Returned {
        result: i64,
    },
    Signal(i32),
    /// A new thread, or the start of the program.
    Other,
    Ended {
        code: Option<i32>,
    },
}

/// A traced program. It dies with this process.
#[derive(Debug)]
pub struct Tracee(Child);

const OPTIONS: i32 = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL | libc::PTRACE_O_TRACECLONE;

fn last_error(result: libc::c_long) -> io::Result<libc::c_long> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

impl Tracee {
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let trace_me = || {
            // SAFETY: a request that reads and writes no memory, between fork and exec.
            let result = unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, null_mut::<u8>(), null_mut::<u8>()) };
            last_error(result).map(drop)
        };
        // SAFETY: the closure makes one system call.
        let mut child = unsafe { command.pre_exec(trace_me) }.spawn()?;
        let pid = child.id() as i32;
        let mut status = 0;
        // SAFETY: `status` outlives the call. The program stops at its start.
        if unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) } != pid || !libc::WIFSTOPPED(status) {
            let _ = child.kill();
            return Err(io::Error::other("the program did not stop at its start"));
        }
        let tracee = Self(child);
        // SAFETY: a request that reads and writes no memory.
        let result = unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, pid, null_mut::<u8>(), OPTIONS as usize) };
        last_error(result)?;
        tracee.resume(pid, 0);
        Ok(tracee)
    }

    pub fn pid(&self) -> i32 {
        self.0.id() as i32
    }

    /// Waits for the next thread that stops.
    pub fn next_stop(&self) -> io::Result<(i32, Stop)> {
        let mut status = 0;
        // Children of other threads, that is of other tests, are not waited for.
        let flags = libc::__WALL | libc::__WNOTHREAD;
        // SAFETY: `status` outlives the call.
        let tid = unsafe { libc::waitpid(-1, &raw mut status, flags) };
        if tid == -1 {
            return Err(io::Error::last_os_error());
        }
        if libc::WIFEXITED(status) {
            return Ok((tid, Stop::Ended { code: Some(libc::WEXITSTATUS(status)) }));
        }
        if libc::WIFSIGNALED(status) {
            return Ok((tid, Stop::Ended { code: None }));
        }
        let stop = match libc::WSTOPSIG(status) {
            signal if signal == libc::SIGTRAP | 0x80 => self.system_call(tid),
            _ if status >> 16 != 0 => Stop::Other,
            signal => Stop::Signal(signal),
        };
        Ok((tid, stop))
    }

    fn system_call(&self, tid: i32) -> Stop {
        let mut info = MaybeUninit::<libc::ptrace_syscall_info>::zeroed();
        let size = size_of::<libc::ptrace_syscall_info>();
        // SAFETY: the kernel writes at most `size` bytes to `info`.
        let result = unsafe { libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, tid, size, info.as_mut_ptr()) };
        if result == -1 {
            // It was killed meanwhile.
            return Stop::Other;
        }
        // SAFETY: all bits zero are valid, and the kernel filled in what `op` says.
        let info = unsafe { info.assume_init() };
        match info.op {
            libc::PTRACE_SYSCALL_INFO_ENTRY => {
                // SAFETY: `op` says that it is this variant.
                let entry = unsafe { info.u.entry };
                Stop::Entered(Entered { number: entry.nr as i64, arguments: entry.args })
            }
            libc::PTRACE_SYSCALL_INFO_EXIT => {
                // SAFETY: `op` says that it is this variant.
                let exit = unsafe { info.u.exit };
                Stop::Returned { result: exit.sval }
            }
            _ => Stop::Other,
        }
    }

    /// Goes on to the next stop. A thread that was killed meanwhile is reported by the next wait.
    pub fn resume(&self, tid: i32, signal: i32) {
        // SAFETY: a request that reads and writes no memory.
        unsafe { libc::ptrace(libc::PTRACE_SYSCALL, tid, null_mut::<u8>(), signal as usize) };
    }

    pub fn kill(&self) {
        // SAFETY: the process was not waited for, so its process id is still valid.
        unsafe { libc::kill(self.pid(), libc::SIGKILL) };
    }

    /// Skips the call that the thread is about to make.
    pub fn skip_call(&self, tid: i32) -> io::Result<()> {
        self.change_registers(tid, |registers| registers.orig_rax = u64::MAX)
    }

    /// Sets the result of the call that the thread returns from.
    pub fn set_result(&self, tid: i32, result: i64) -> io::Result<()> {
        self.change_registers(tid, |registers| registers.rax = result as u64)
    }

    pub fn set_third_argument(&self, tid: i32, value: u64) -> io::Result<()> {
        self.change_registers(tid, |registers| registers.rdx = value)
    }

    fn change_registers(&self, tid: i32, change: impl FnOnce(&mut libc::user_regs_struct)) -> io::Result<()> {
        let mut registers = MaybeUninit::<libc::user_regs_struct>::zeroed();
        // SAFETY: the kernel fills `registers`.
        let read = unsafe { libc::ptrace(libc::PTRACE_GETREGS, tid, null_mut::<u8>(), registers.as_mut_ptr()) };
        last_error(read)?;
        // SAFETY: the kernel filled it.
        let mut registers = unsafe { registers.assume_init() };
        change(&mut registers);
        // SAFETY: the kernel reads `registers`.
        let written = unsafe { libc::ptrace(libc::PTRACE_SETREGS, tid, null_mut::<u8>(), &raw const registers) };
        last_error(written).map(drop)
    }
}

impl Drop for Tracee {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
