//! Schedules the threads of QEMU so that the guest's clock does not depend on the host.
//!
//! While the guest idles, QEMU's main loop and its processor thread race for the clock. With both on one CPU, and the
//! main loop always first, there is no race.

use rustix::process::{Resource, geteuid, getrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Low among real-time priorities: it only has to be above ordinary tasks.
const PRIORITY: i32 = 5;

/// Whether this process may give QEMU's main thread the priority it needs.
pub fn is_permitted() -> bool {
    geteuid().is_root() || getrlimit(Resource::Rtprio).current.is_none_or(|most| most >= PRIORITY as u64)
}

/// Binds the command's process to one CPU, with its first thread, and no other, at real-time priority.
///
/// # Errors
/// If the CPUs of this process cannot be read.
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

/// Different processes use different CPUs as long as there are enough.
fn one_of(allowed: &CpuSet) -> CpuSet {
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
    let mut one = CpuSet::new();
    if let Some(cpu) = cpus.get(std::process::id() as usize % cpus.len().max(1)) {
        one.set(*cpu);
    }
    one
}

/// Gives the calling thread real-time priority. A thread it creates later is an ordinary one: a processor thread of the
/// same priority would never let the main loop run.
///
/// # Errors
/// If this process lacks the privilege: see [`is_permitted`].
pub fn before_ordinary_threads() -> io::Result<()> {
    schedule(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, PRIORITY)
}

/// Sets policy and priority of a thread; 0 is the calling one.
fn schedule(thread: libc::pid_t, policy: i32, priority: i32) -> io::Result<()> {
    // SAFETY: all fields of the structure are plain numbers, for which zero is a value.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: `parameters` outlives the call, and the kernel only reads it.
    let answer = unsafe { libc::sched_setscheduler(thread, policy, &raw const parameters) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// How a thread that runs the guest's processor is scheduled relative to the main loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// After the main loop, which precedes ordinary threads, and equal to everything else on the host.
    Ordinary,
    /// Neither preempts the other: they alternate when one sleeps. No ordinary task gets that CPU meanwhile.
    WithMainLoop,
    /// After everything else on the host, so that the main loop need not precede ordinary threads.
    Last,
}

impl Turn {
    /// # Errors
    /// If the thread no longer exists, or this process lacks the privilege.
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
        let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let lines: Vec<&str> = output.lines().collect();
        let cpus = lines[0].split_whitespace().nth(1).unwrap();
        assert!(cpus.parse::<usize>().is_ok(), "{output}");
        // Fields 40 and 41 are real-time priority and policy; the name in brackets has no spaces here.
        let scheduling = |line: &str| line.split(' ').skip(39).take(2).map(str::to_owned).collect::<Vec<_>>();
        if is_permitted() {
            assert_eq!(scheduling(lines[1]), ["5", "1"], "{output}");
        }
        assert_eq!(scheduling(lines[2]), ["0", "0"], "{output}");
    }
}
