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

/// A thread made later is an ordinary one: a processor thread of the same priority would never let the main loop run.
fn before_ordinary_threads() -> io::Result<()> {
    // SAFETY: all fields of the structure are plain numbers, for which zero is a value.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = PRIORITY;
    // SAFETY: `parameters` outlives the call, and the kernel only reads it.
    let answer =
        unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const parameters) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
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
