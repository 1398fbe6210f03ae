//! Makes a process end with the thread that started it.

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Makes the kernel kill the command's process when the spawning thread ends in any way.
pub fn bind(command: &mut Command) {
    let parent = getpid();
    let in_child = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // If the parent died before the request was made, no signal will come.
        if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    };
    // SAFETY: between fork and exec only two system calls are made; nothing is allocated, locked or shared.
    unsafe { command.pre_exec(in_child) };
}
