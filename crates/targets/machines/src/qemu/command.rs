//! A command in a booted machine, as a [`RunningCommand`].

use super::absences::AbsenceWatch;
use super::error::WatchError;
use super::guest_reports::lock;
use super::machine::Machine;
use crate::{Exit, MachineEvent, Output, Outside, RunningCommand};
use std::io;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(5);
const LISTEN_FOR: Duration = Duration::from_millis(20);

/// A command in a virtual machine. Dropping it before its end switches the machine off.
pub struct GuestRun {
    machine: Arc<Mutex<Machine>>,
    /// The watch of the machine's execution, or why it could not be started, until that is reported.
    watch: Option<Result<AbsenceWatch, WatchError>>,
    reported: bool,
    started: Instant,
    killed: bool,
}

impl GuestRun {
    pub fn new(machine: Arc<Mutex<Machine>>, watch: Option<Result<AbsenceWatch, WatchError>>) -> Self {
        Self { machine, watch, reported: false, started: Instant::now(), killed: false }
    }

    fn machine(&self) -> MutexGuard<'_, Machine> {
        lock(&self.machine)
    }

    /// The exit of the command as the guest reported it; a machine that went down before has lost it.
    fn verdict(&self) -> Exit {
        let ended = self.machine().reports().ended;
        match ended {
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
        self.machine().write(bytes)
    }

    fn read(&mut self, wait: Duration) -> Output {
        let begun = Instant::now();
        loop {
            let machine = self.machine();
            // Read before receiving: what was on its way then will be received.
            let drained = machine.is_drained();
            let left = wait.saturating_sub(begun.elapsed());
            match machine.output.recv_timeout(if drained { Duration::ZERO } else { left.min(LISTEN_FOR) }) {
                Ok(bytes) => return Output::Bytes(bytes),
                Err(RecvTimeoutError::Timeout) if drained => return Output::Closed,
                // The guest reports elsewhere that no more output will come.
                Err(RecvTimeoutError::Timeout) if begun.elapsed() < wait => {}
                Err(RecvTimeoutError::Timeout) => return Output::Quiet,
                Err(RecvTimeoutError::Disconnected) => return Output::Closed,
            }
        }
    }

    fn diagnostics(&mut self) -> Vec<String> {
        let mut machine = self.machine();
        let mut lines: Vec<String> = machine.reports().lines.iter().cloned().collect();
        let ended = machine.reports().ended.is_some();
        if !ended && !self.killed || machine.has_panicked() {
            lines.extend(machine.last_output());
        }
        lines
    }

    /// At once, why absences are unknown; at the end, their total.
    fn events(&mut self) -> Vec<MachineEvent> {
        let ended = self.machine().reports().ended.is_some();
        let event = match &self.watch {
            Some(Err(why)) if !self.reported => Some(MachineEvent::AbsencesUnknown { why: why.to_string() }),
            Some(Ok(watch)) if !self.reported && ended => watch.summary(),
            _ => return Vec::new(),
        };
        self.reported = true;
        event.into_iter().collect()
    }

    fn outside(&mut self, from_ns: i64, to_ns: i64, last: bool) -> Outside {
        match &self.watch {
            Some(Ok(watch)) => watch.outside(from_ns, to_ns, last),
            Some(Err(_)) | None => Outside::Unknown,
        }
    }

    fn lines(&mut self) -> Vec<String> {
        self.machine().reports().take_lines()
    }

    fn kill(&mut self) {
        self.killed = true;
        self.machine().kill();
    }

    fn wait(&mut self, limit: Duration) -> Option<Exit> {
        let begun = Instant::now();
        if self.machine().reports().ended.is_none() {
            self.machine().hang_up();
        }
        loop {
            let mut machine = self.machine();
            let ended = machine.reports().ended.is_some();
            let down = machine.exit().is_some();
            if ended || down {
                drop(machine);
                return Some(self.verdict());
            }
            if begun.elapsed() >= limit {
                machine.kill();
                return None;
            }
            drop(machine);
            thread::sleep(LOOK_EVERY);
        }
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

impl Drop for GuestRun {
    fn drop(&mut self) {
        let mut machine = self.machine();
        if machine.reports().ended.is_none() {
            machine.kill();
        }
    }
}
