//! How the threads of QEMU are scheduled so that the guest's clock depends on nothing of the host.
//!
//! While the guest idles, QEMU's main loop and its processor thread race for the clock. On one CPU, with the main loop
//! always going first, there is no race.

use rustix::process::{Resource, geteuid, getrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Low among real-time priorities: above everything ordinary is enough.
const PRIORITY: i32 = 5;

/// Whether this process may give QEMU's main thread the priority it needs.
pub fn is_permitted() -> bool {
    geteuid().is_root() || getrlimit(Resource::Rtprio).current.is_none_or(|most| most >= PRIORITY as u64)
}

/// Has the command's process run on one CPU, with its first thread, and no other, before ordinary ones.
///
/// # Errors
/// When the CPUs of this process cannot be read.
pub fn bind(command: &mut Command) -> io::Result<()> {
    let one = one_of(&sched_getaffinity(None)?);
    let first_goes_first = is_permitted();
    let in_child = move || {
        sched_setaffinity(None, &one)?;
        if first_goes_first { before_ordinary_threads() } else { Ok(()) }
    };
    // SAFETY: between fork and exec only two system calls are made; nothing is allocated, locked or shared.
    unsafe { command.pre_exec(in_child) };
    Ok(())
}

/// Different processes take different CPUs while there are enough.
fn one_of(allowed: &CpuSet) -> CpuSet {
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
    let mut one = CpuSet::new();
    if let Some(cpu) = cpus.get(std::process::id() as usize % cpus.len().max(1)) {
        one.set(*cpu);
    }
    one
}

/// Has the calling thread run before ordinary ones. A thread it makes later is an ordinary one: a processor thread of the
/// same priority would never let the main loop run.
///
/// # Errors
/// When this process may not: see [`is_permitted`].
pub fn before_ordinary_threads() -> io::Result<()> {
    schedule(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, PRIORITY)
}

/// Gives a thread, 0 is the calling one, a policy and a priority.
fn schedule(thread: libc::pid_t, policy: i32, priority: i32) -> io::Result<()> {
    // SAFETY: all fields of the structure are plain numbers, for which zero is a value.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: `parameters` outlives the call, and the kernel only reads it.
    let answer = unsafe { libc::sched_setscheduler(thread, policy, &raw const parameters) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// How a thread that runs the guest's processor gets its turn beside the main loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// After the main loop, which is before ordinary threads, and beside everything else on the host.
    Ordinary,
    /// Neither interrupts the other: they change places when one sleeps. Nothing ordinary gets that CPU meanwhile.
    WithMainLoop,
    /// After everything else on the host, so that the main loop need not be before ordinary threads.
    Last,
}

impl Turn {
    /// # Errors
    /// When there is no such thread any more, or this process may not.
    pub fn give(self, thread: libc::pid_t) -> io::Result<()> {
        match self {
            Self::Ordinary => schedule(thread, libc::SCHED_OTHER, 0),
            Self::WithMainLoop => schedule(thread, libc::SCHED_FIFO, PRIORITY),
            Self::Last => schedule(thread, libc::SCHED_IDLE, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cpu_is_left_and_its_children_are_ordinary() {
        let mut command = Command::new("sh");
        command.args(["-c", "grep Cpus_allowed_list /proc/$$/status; cat /proc/$$/stat; sh -c 'cat /proc/$$/stat; :'"]);
        bind(&mut command).unwrap();
        let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let lines: Vec<&str> = said.lines().collect();
        let cpus = lines[0].split_whitespace().nth(1).unwrap();
        assert!(cpus.parse::<usize>().is_ok(), "{said}");
        // Fields 40 and 41 are real-time priority and policy; the name in brackets has no blanks here.
        let scheduling = |line: &str| line.split(' ').skip(39).take(2).map(str::to_owned).collect::<Vec<_>>();
        if is_permitted() {
            assert_eq!(scheduling(lines[1]), ["5", "1"], "{said}");
        }
        assert_eq!(scheduling(lines[2]), ["0", "0"], "{said}");
    }
}
