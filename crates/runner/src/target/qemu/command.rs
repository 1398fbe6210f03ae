//! The one command of a booted machine, as a run knows commands.

use super::machine::Machine;
use crate::target::{Exit, Output, RunningCommand};
use std::io;
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A command in a virtual machine. The machine goes off with it.
pub struct GuestRun {
    machine: Machine,
    started: Instant,
    killed: bool,
}

impl GuestRun {
    pub fn new(machine: Machine) -> Self {
        Self { machine, started: Instant::now(), killed: false }
    }

    /// How the command ended, by the guest's word; a machine that went down without one has lost it.
    fn verdict(&self) -> Exit {
        match self.machine.heard().ended {
            Some(ended) => match (ended.code, ended.signal) {
                (Some(code), _) => Exit::Code(code),
                (None, signal) => Exit::Signal(signal.unwrap_or(0)),
            },
            None if self.killed => Exit::Signal(9),
            None => Exit::MachineDown,
        }
    }
}

impl RunningCommand for GuestRun {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.machine.write(bytes)
    }

    fn read(&mut self, wait: Duration) -> Output {
        // Asked before looking: what was on the way then is found by looking.
        let drained = self.machine.is_drained();
        match self.machine.output.recv_timeout(if drained { Duration::ZERO } else { wait }) {
            Ok(bytes) => Output::Bytes(bytes),
            Err(RecvTimeoutError::Timeout) if drained => Output::Closed,
            Err(RecvTimeoutError::Timeout) => Output::Quiet,
            Err(RecvTimeoutError::Disconnected) => Output::Closed,
        }
    }

    fn diagnostics(&mut self) -> Vec<String> {
        let mut lines: Vec<String> = self.machine.heard().lines.iter().cloned().collect();
        let ended = self.machine.heard().ended.is_some();
        if !ended && !self.killed || self.machine.has_panicked() {
            lines.extend(self.machine.last_words());
        }
        lines
    }

    fn kill(&mut self) {
        self.killed = true;
        self.machine.kill();
    }

    fn wait(&mut self, limit: Duration) -> Option<Exit> {
        let begun = Instant::now();
        if self.machine.heard().ended.is_none() {
            self.machine.hang_up();
        }
        loop {
            if self.machine.exit().is_some() {
                return Some(self.verdict());
            }
            if begun.elapsed() >= limit {
                // The command has ended; a machine that does not go off by itself need not be waited for.
                let ended = self.machine.heard().ended.is_some();
                self.machine.kill();
                return ended.then(|| self.verdict());
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}
