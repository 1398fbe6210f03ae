//! A board as a target: it needs a shell, and has the meter for as long as it is used.

use super::board_file::Board;
use super::connection::connect;
use super::error::{BoardError, SendError};
use super::hooks;
use super::line::{Line, send};
use super::lock::{BoardLock, LOOK_EVERY};
use super::problem::BoardProblem;
use super::reach::Reach;
use super::session::Purpose;
use super::shell::quoted;
use super::spooled::{SharedLine, SpooledRun};
use super::{AccessOptions, MeterCopy};
use crate::meter_places::MeterPlaces;
use crate::stop::StopRequests;
use crate::{Command, Exit, Output, RunningCommand, Target, TargetError};
use archive::message::{Problem, Severity};
use std::cell::{Cell, RefCell};
use std::fs;
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

/// Time limit for fetching a file.
/// A board that sends more is not read further.
const FETCH_BYTES_MAX: usize = 64 << 20;
const FETCH_LIMIT: Duration = Duration::from_secs(60);
/// Time limit for the meter to report that it starts.
const START_LIMIT: Duration = Duration::from_secs(60);
/// Interval between attempts to lock a board that another host holds.
const ASK_EVERY: Duration = Duration::from_secs(5);
/// Interval between attempts to reach a booting board.
const BOOT_POLL: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(100);
/// How long a run without an end continues without its host, in seconds.
const ALONE_S: u64 = 600;

/// A board, connected or not.
pub struct BoardTarget {
    reach: Reach,
    meters: MeterPlaces,
    access: AccessOptions,
    lock: Option<BoardLock>,
    line: SharedLine,
    /// The meter's file name there, once it was sent.
    meter: String,
    notices: Vec<Problem>,
    /// Set if the data of the current run disappeared from the board, and with it the record of its changes.
    emptied: Rc<Cell<bool>>,
    /// Whether the board has results that the host does not have.
    holds_results: bool,
    /// Output of the lab's commands.
    notes: Vec<u8>,
}

impl BoardTarget {
    pub fn new(name: &str, board: Board, meters: MeterPlaces, access: AccessOptions, stop: StopRequests) -> Self {
        let purpose = access.purpose.clone();
        let reach = Reach {
            name: name.into(),
            board,
            who: access.who.clone(),
            token: String::new(),
            purpose,
            stop,
            report: access.report,
            traffic: Rc::default(),
        };
        let line = Rc::new(RefCell::new(None));
        Self {
            reach,
            meters,
            access,
            lock: None,
            line,
            meter: String::new(),
            notices: Vec::new(),
            emptied: Rc::default(),
            holds_results: false,
            notes: Vec::new(),
        }
    }

    fn prepared(&mut self) -> Result<(), BoardError> {
        self.reach.board.check().map_err(BoardError::from)?;
        if self.line.borrow().is_some() {
            return Ok(());
        }
        let begun = Instant::now();
        if self.lock.is_none() {
            let board = self.reach.board.identity_of_board();
            let lock = super::lock::take(&board, self.access.wait, &self.reach.stop)?;
            self.reach.token = lock.token().into();
            self.lock = Some(lock);
        }
        let mut line = match self.woken()? {
            Some(line) => line,
            None => self.connected(begun)?,
        };
        if line.greeting().user != Some(0) {
            let kind = BoardProblem::NotRoot { board: self.reach.name.clone() };
            self.notices.push(Problem::new(Severity::Notice, &kind));
        }
        match self.send_meter(line.as_mut()) {
            Ok(meter) => self.meter = meter,
            Err(error) => {
                line.end();
                return Err(error);
            }
        }
        *self.line.borrow_mut() = Some(line);
        Ok(())
    }

    fn connected(&self, begun: Instant) -> Result<Box<dyn Line>, BoardError> {
        let stop = &self.reach.stop;
        loop {
            match connect(&self.reach) {
                Ok(line) => return Ok(line),
                Err(BoardError::Held(_)) if begun.elapsed() < self.access.wait && stop.count() == 0 => {
                    pause(ASK_EVERY, stop);
                }
                Err(BoardError::Held(holder)) => return Err(BoardError::NotWaitedFor(holder)),
                Err(error) => {
                    self.emptied.set(matches!(error, BoardError::NothingKept));
                    return Err(error);
                }
            }
        }
    }

    fn hook(&mut self, hook: &str, command: &str) -> Result<(), BoardError> {
        let image = self.access.deploy.as_deref().unwrap_or_default();
        Ok(hooks::run(hook, command, (&self.reach.name, &self.reach.board, image), &mut self.notes, &self.reach.stop)?)
    }

    /// Switches the board on and deploys new software, if its target file defines how and the user asked for it.
    /// Returns a connection if it had to wait for one.
    fn woken(&mut self) -> Result<Option<Box<dyn Line>>, BoardError> {
        let board = self.reach.board.clone();
        let power = board.power.unwrap_or_default();
        if let Some(on) = &power.on {
            self.hook("power.on", on)?;
        }
        if self.access.deploy.is_none() {
            return if power.on.is_some() { self.back(None).map(Some) } else { Ok(None) };
        }
        let deploy = board.deploy.ok_or(BoardError::NoDeployHook)?;
        // A board that holds results, or is in use, gets no new software; one that is off does not answer.
        let before = match connect(&self.reach) {
            Ok(line) => {
                let boot = line.greeting().boot.clone();
                line.end();
                Some(boot)
            }
            Err(BoardError::Held(holder)) => return Err(BoardError::HeldBeforeDeploying(holder)),
            Err(error @ (BoardError::ResultsLeft { .. } | BoardError::NothingKept)) => return Err(error),
            Err(_) => None,
        };
        self.hook("deploy", &deploy.command)?;
        if let Some(cycle) = &power.cycle {
            self.hook("power.cycle", cycle)?;
        }
        self.back(before.filter(|_| deploy.reboots)).map(Some)
    }

    /// Waits until the board is reachable, in a boot other than `before`.
    fn back(&self, before: Option<String>) -> Result<Box<dyn Line>, BoardError> {
        let limit = Duration::from_secs(u64::from(self.reach.board.boot.clone().unwrap_or_default().wait_seconds));
        let begun = Instant::now();
        loop {
            let last = match connect(&self.reach) {
                Ok(line) if before.as_ref() != Some(&line.greeting().boot) => return Ok(line),
                Ok(line) => {
                    line.end();
                    BoardError::NotRebooted
                }
                Err(error @ (BoardError::ResultsLeft { .. } | BoardError::NothingKept)) => return Err(error),
                Err(BoardError::Held(holder)) if begun.elapsed() >= self.access.wait => {
                    return Err(BoardError::NotWaitedFor(holder));
                }
                Err(error) => error,
            };
            if self.reach.stop.count() > 0 {
                return Err(BoardError::Stopped);
            }
            if begun.elapsed() > limit.max(self.access.wait) {
                return Err(BoardError::NotBack { limit, last: Box::new(last) });
            }
            pause(BOOT_POLL, &self.reach.stop);
        }
    }

    /// Sends the matching meter if it is not there; returns its file name there.
    fn send_meter(&self, line: &mut dyn Line) -> Result<String, BoardError> {
        let meter = MeterCopy::find(&self.meters, &line.greeting().machine)?;
        if !line.greeting().meters.contains(&meter.name) {
            // A run whose results are being fetched may still use the meter it was started with.
            let alone = self.access.purpose == Purpose::Run;
            line.send_meter(&meter, alone).map_err(BoardError::MeterNotSent)?;
        }
        Ok(meter.name)
    }

    /// Runs `act` with the connection.
    fn with_line<T>(&self, act: impl FnOnce(&mut dyn Line) -> io::Result<T>) -> io::Result<T> {
        let mut line = self.line.borrow_mut();
        act(line.as_mut().ok_or_else(|| io::Error::other("it has not been prepared"))?.as_mut())
    }

    fn receive(&self, from: &Path, to: &Path) -> io::Result<()> {
        let script = format!("exec cat {}", quoted(&from.display().to_string()));
        let mut running = self.with_line(|line| line.shell(&script))?;
        let mut bytes = Vec::new();
        while running.elapsed() < FETCH_LIMIT {
            match running.read(POLL) {
                Output::Bytes(more) if bytes.len() < FETCH_BYTES_MAX => bytes.extend(more),
                Output::Bytes(_) => return Err(io::Error::other(format!("more than {} MiB", FETCH_BYTES_MAX >> 20))),
                Output::Quiet => {}
                Output::Closed => break,
            }
        }
        match running.wait(POLL * 10) {
            Some(Exit::Code(0)) => fs::write(to, bytes),
            _ => Err(io::Error::other(running.diagnostics().join(" | "))),
        }
    }

    /// Starts a process there that starts the meter and spools its output.
    fn start_spool(&self, input: &[u8], id: &str) -> io::Result<()> {
        let board = &self.reach.board;
        let limit_bytes = u64::from(board.spool_mb.unwrap_or(0)) << 20;
        let keep_s = u64::from(board.keep_hours) * 3600;
        let numbers = [limit_bytes, keep_s, ALONE_S].map(|number| number.to_string());
        let [limit_bytes, keep_s, alone_s] = numbers.each_ref().map(String::as_str);
        let words = ["spool", "start", ".", id, limit_bytes, keep_s, alone_s];
        let mut running = self.with_line(|line| line.meter(&self.meter, &words))?;
        // If it does not read its input, its exit shows why.
        let _ = running.write(input);
        match running.wait(START_LIMIT) {
            Some(Exit::Code(0)) => Ok(()),
            _ => Err(io::Error::other(running.diagnostics().join(" | "))),
        }
    }

    fn attached(&mut self, id: &str, from: u64) -> Result<Box<dyn RunningCommand>, BoardError> {
        let place = self.line.borrow().as_ref().map(|line| line.greeting().place.clone()).unwrap_or_default();
        let reach = Reach { purpose: Purpose::Collect { run: id.into() }, ..self.reach.clone() };
        let run = SpooledRun::attach(reach, Rc::clone(&self.line), &place, &self.meter, from)?;
        self.emptied = run.emptied();
        Ok(Box::new(run))
    }

    fn copy_failed(&self, from: &Path, to: &Path, source: io::Error) -> TargetError {
        TargetError::Copy { target: self.reach.name.clone(), from: from.to_owned(), to: to.to_owned(), source }
    }

    fn start_failed(&self, command: &Command, source: io::Error) -> TargetError {
        TargetError::Start { target: self.reach.name.clone(), program: command.program.clone(), source }
    }
}

fn pause(time: Duration, stop: &StopRequests) {
    let begun = Instant::now();
    while begun.elapsed() < time && stop.count() == 0 {
        thread::sleep(LOOK_EVERY);
    }
}

impl Target for BoardTarget {
    fn name(&self) -> &str {
        &self.reach.name
    }

    fn prepare(&mut self) -> Result<(), TargetError> {
        self.prepared().map_err(|error| {
            let (target, why) = (self.reach.name.clone(), error.into());
            if self.emptied.get() { TargetError::Gone { target, why } } else { TargetError::Prepare { target, why } }
        })
    }

    fn send_file(&mut self, from: &Path, to: &Path) -> Result<(), TargetError> {
        let send = || {
            let bytes = fs::read(from)?;
            let executable = super::is_executable(from)?;
            self.with_line(|line| {
                send(line, &bytes, &to.display().to_string(), executable, ":").map_err(|error| match error {
                    SendError::Line(error) => error,
                    error @ SendError::NoRoom { .. } => io::Error::new(io::ErrorKind::StorageFull, error),
                    error => io::Error::other(error),
                })
            })
        };
        send().map_err(|source| self.copy_failed(from, to, source))
    }

    /// Runs the meter on the board, whatever program the command names.
    fn start(&mut self, command: &Command) -> Result<Box<dyn RunningCommand>, TargetError> {
        let words: Vec<&str> = command.arguments.iter().map(String::as_str).collect();
        let started = self.with_line(|line| line.meter(&self.meter, &words));
        started.map_err(|source| self.start_failed(command, source))
    }

    /// Starts the measurement on the board, whatever the command is: nothing else can outlast the connection.
    fn start_lasting(
        &mut self,
        command: &Command,
        input: &[u8],
        id: &str,
    ) -> Result<Box<dyn RunningCommand>, TargetError> {
        let started = self.start_spool(input, id);
        self.holds_results = started.is_ok();
        let attached = started.and_then(|()| self.attached(id, 0).map_err(io::Error::other));
        attached.map_err(|source| self.start_failed(command, source))
    }

    fn keeps_output(&self) -> bool {
        true
    }

    fn forgets(&self) -> bool {
        self.emptied.get()
    }

    fn resume(&mut self, id: &str, from: u64) -> Result<Box<dyn RunningCommand>, TargetError> {
        self.holds_results = true;
        self.attached(id, from)
            .map_err(|error| TargetError::Collect { target: self.reach.name.clone(), why: error.into() })
    }

    fn release_output(&mut self) {
        if let Some(line) = self.line.borrow_mut().as_mut() {
            line.fetched();
            self.holds_results = false;
        }
    }

    fn fetch_file(&mut self, from: &Path, to: &Path) -> Result<(), TargetError> {
        self.receive(from, to).map_err(|source| self.copy_failed(from, to, source))
    }

    fn close(&mut self) -> Result<(), TargetError> {
        let line = self.line.borrow_mut().take();
        if let Some(line) = line {
            line.end();
            // Results in the board's memory must not be lost by switching it off.
            let off = self.reach.board.power.clone().and_then(|power| power.off).filter(|_| !self.holds_results);
            if let Some(off) = off {
                self.hook("power.off", &off)
                    .map_err(|error| TargetError::Prepare { target: self.reach.name.clone(), why: error.into() })?;
            }
        }
        self.lock = None;
        Ok(())
    }

    fn console(&self) -> Vec<u8> {
        let mut output = self.notes.clone();
        output.extend(self.reach.traffic.borrow().console.text());
        output
    }

    fn notices(&mut self) -> Vec<Problem> {
        std::mem::take(&mut self.notices)
    }
}

impl Drop for BoardTarget {
    fn drop(&mut self) {
        let _ = self.close();
    }
}
