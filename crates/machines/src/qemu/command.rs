//! A command of a booted machine, as a run knows commands.

use super::absences::AbsenceWatch;
use super::error::WatchError;
use super::guest_reports::lock;
use super::machine::Machine;
use crate::{Exit, News, Output, Outside, RunningCommand};
use std::io;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(5);
const LISTEN_FOR: Duration = Duration::from_millis(20);

/// A command in a virtual machine. The machine goes off with one that is let go before its end.
pub struct GuestRun {
    machine: Arc<Mutex<Machine>>,
    /// Whoever watches when the host executes the machine; why nobody does, until that is told.
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

    /// How the command ended, by the guest's word; a machine that went down without one has lost it.
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
            // Asked before looking: what was on the way then is found by looking.
            let drained = machine.is_drained();
            let left = wait.saturating_sub(begun.elapsed());
            match machine.output.recv_timeout(if drained { Duration::ZERO } else { left.min(LISTEN_FOR) }) {
                Ok(bytes) => return Output::Bytes(bytes),
                Err(RecvTimeoutError::Timeout) if drained => return Output::Closed,
                // The guest tells elsewhere that there will be no more.
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
            lines.extend(machine.last_words());
        }
        lines
    }

    /// Why the host's part cannot be told, at once; how large it was, at the end.
    fn news(&mut self) -> Vec<News> {
        let ended = self.machine().reports().ended.is_some();
        let news = match &self.watch {
            Some(Err(why)) if !self.reported => Some(News::AbsencesUnknown { why: why.to_string() }),
            Some(Ok(watch)) if !self.reported && ended => watch.summary(),
            _ => return Vec::new(),
        };
        self.reported = true;
        news.into_iter().collect()
    }

    fn outside(&mut self, from_ns: i64, to_ns: i64, last: bool) -> Outside {
        match &self.watch {
            Some(Ok(watch)) => watch.outside(from_ns, to_ns, last),
            Some(Err(_)) | None => Outside::Unknown,
        }
    }

    fn said(&mut self) -> Vec<String> {
        self.machine().reports().take_said()
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
