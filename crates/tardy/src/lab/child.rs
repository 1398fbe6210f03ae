//! A `tardy` that measures for a worker: it stops when the worker dies, so that nothing measures beside the next worker.

use rustix::process::{Pid, Signal, getppid, kill_process, set_parent_process_death_signal, test_kill_process};
use std::io;
use std::process::{Child, Command, ExitStatus, Stdio};

/// Set for the child; its value is the worker's process id.
const WORKER: &str = "TARDY_WORKER_PID";

/// A measuring process.
#[derive(Debug)]
pub struct Measurement(Child);

impl Measurement {
    /// Starts this program with these words. The thread that calls must live as long as the worker.
    ///
    /// # Errors
    /// Errors of starting a process.
    pub fn start(words: &[String]) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(words).env(WORKER, std::process::id().to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Ok(Self(command.spawn()?))
    }

    /// How it ended; `None` while it runs.
    ///
    /// # Errors
    /// Errors of waiting.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.0.try_wait()
    }

    /// Asks it to end its run; what it measured is stored.
    pub fn stop(&self) {
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
    }
}

impl Drop for Measurement {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            self.stop();
            let _ = self.0.wait();
        }
    }
}

/// In a process that a worker started: arranges that it is asked to stop when the worker dies. Elsewhere, and in a process
/// that such a process started, does nothing.
pub fn end_with_worker() {
    let named = std::env::var(WORKER).ok().and_then(|pid| Pid::from_raw(pid.parse().ok()?));
    let Some(worker) = named else { return };
    if getppid() == Some(worker) && set_parent_process_death_signal(Some(Signal::TERM)).is_err() {
        return;
    }
    // It died before the kernel could watch it.
    if getppid() != Some(worker) && test_kill_process(worker).is_err() {
        std::process::exit(3);
    }
}
