//! A command that a guard starts: held back until the trace is on, and ended with the guard.

use crate::exit::Exit;
use crate::measuring::command::{Started, check};
use machines::KnownTarget;
use runner::run::CountedOutput;
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;

/// The running command.
pub struct GuardedCommand {
    started: Started,
    ended: bool,
}

impl GuardedCommand {
    /// Starts it; `None` without words.
    ///
    /// # Errors
    /// If its program cannot be started.
    pub fn start(meter: &Path, words: &[String]) -> anyhow::Result<Option<Self>> {
        if words.is_empty() {
            return Ok(None);
        }
        check(&KnownTarget::local(), None, None, words)?;
        let started = Started::waiting(meter, words, &[], false, &CountedOutput::new(&[]))?;
        Ok(Some(Self { started, ended: false }))
    }

    pub fn pid(&self) -> i32 {
        self.started.pid()
    }

    /// Lets it begin.
    pub fn release(&self) {
        self.signal(Signal::CONT);
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        self.ended = self.started.has_ended();
        !self.ended
    }

    /// Ends it if it still runs; returns the exit of the guard: its own exit code, or success if it was asked to end.
    pub fn end(mut self) -> Exit {
        let asked = self.runs();
        if asked {
            self.signal(Signal::TERM);
            self.signal(Signal::CONT);
        }
        let code = self.started.own_failure(asked);
        self.started.end();
        code.map_or(Exit::Measured, Exit::Command)
    }

    fn signal(&self, signal: Signal) {
        // A process that is gone needs no signal.
        let _ = Pid::from_raw(self.pid()).map(|pid| kill_process(pid, signal));
    }
}
