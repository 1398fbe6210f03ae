//! Boards of a lab managed by labgrid: a place is acquired, switched on, reached over ssh, and always released.
//!
//! `labgrid-client` is run as a program. [`place_file`] defines a place's target file, [`acquisition`] holds the place and
//! releases it; docs/how-to/boards.md describes what happens.

mod acquisition;
pub mod error;
mod literal;
mod place;
pub mod place_file;
pub mod problem;

#[cfg(fuzzing)]
pub use place::PlaceState;

use super::board::lock::{self, BoardLock};
use super::board::{AccessOptions, BoardTarget};
use super::local::LocalTarget;
use super::{Caveat, Command, Exit, RunningCommand, Target, TargetError};
use crate::meter_places::MeterPlaces;
use crate::stop::StopRequests;
use acquisition::{Acquired, Acquisition};
use archive::message::{Problem, Severity};
use error::{ClientError, LabgridError, Refusal};
#[cfg(not(fuzzing))]
use place::PlaceState;
use place_file::{LabgridPlace, Power};
use problem::PlaceProblem;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Interval between attempts to acquire a place that another user has.
const ASK_EVERY: Duration = Duration::from_secs(5);
/// Interval between attempts to reach a booting board.
const TRY_EVERY: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Switching takes a few seconds; a power switch that does not answer must be reported.
const POWER_LIMIT: Duration = Duration::from_secs(120);
const SHOW_LIMIT: Duration = Duration::from_secs(60);

/// A board in a place.
pub struct LabgridTarget {
    name: String,
    place: LabgridPlace,
    meters: MeterPlaces,
    access: AccessOptions,
    stop: StopRequests,
    /// labgrid does not distinguish two runs of one user, and the first would release the place while the second uses
    /// it.
    lock: Option<BoardLock>,
    acquisition: Option<Acquisition>,
    board: Option<BoardTarget>,
    /// Output of the deployment of new software.
    notes: Vec<u8>,
    notices: Vec<Problem>,
}

impl LabgridTarget {
    pub fn new(
        name: &str,
        place: LabgridPlace,
        meters: MeterPlaces,
        access: AccessOptions,
        stop: StopRequests,
    ) -> Self {
        Self {
            name: name.into(),
            place,
            meters,
            access,
            stop,
            lock: None,
            acquisition: None,
            board: None,
            notes: Vec::new(),
            notices: Vec::new(),
        }
    }

    fn prepared(&mut self) -> Result<(), LabgridError> {
        self.place.check().map_err(LabgridError::from)?;
        if self.board.is_some() {
            return Ok(());
        }
        self.lock = Some(lock::take(&self.place.label(), self.access.wait, &self.stop)?);
        self.acquire()?;
        match self.place.power {
            Power::Leave => {}
            Power::On => self.switch("on")?,
            Power::Cycle => self.switch("cycle")?,
        }
        let state = PlaceState::parse(&self.client(&["show"], SHOW_LIMIT)?);
        let board = self.place.board(&state).map_err(LabgridError::from)?;
        let reaching = |access: AccessOptions| {
            BoardTarget::new(&self.name, board.clone(), self.meters.clone(), access, self.stop.clone())
        };
        let mut target = self.reached(reaching(AccessOptions { deploy: None, ..self.access.clone() }))?;
        if self.access.deploy.is_some() {
            target.close().map_err(LabgridError::of_board)?;
            target = reaching(self.access.clone());
            // Not retried: a half-written card cannot be booted.
            let deployed = target.prepare();
            self.notes = target.console();
            deployed.map_err(LabgridError::of_board)?;
        }
        self.board = Some(target);
        Ok(())
    }

    /// Acquires the place, or returns its holder; waits for it as long as requested.
    fn acquire(&mut self) -> Result<(), LabgridError> {
        let begun = Instant::now();
        let mut reported = String::new();
        loop {
            match Acquisition::acquire(&self.place, &self.stop)? {
                Acquired::Now(acquisition) => {
                    self.acquisition = Some(acquisition);
                    return Ok(());
                }
                Acquired::Before => {
                    let release = self.place.command("release");
                    let kind = PlaceProblem::Kept { place: self.place.place.clone(), release };
                    self.notices.push(Problem::new(Severity::Notice, &kind));
                    return Ok(());
                }
                Acquired::Held(by) if begun.elapsed() < self.access.wait && self.stop.count() == 0 => {
                    if reported != by {
                        (self.access.report)(&format!("{by}; waiting for it"));
                        reported = by;
                    }
                    self.pause(ASK_EVERY);
                }
                Acquired::Held(by) => return Err(LabgridError::Held { by }),
            }
        }
    }

    fn switch(&self, how: &str) -> Result<(), LabgridError> {
        (self.access.report)(&format!("switching place {}: power {how}", self.place.place));
        self.client(&["power", how], POWER_LIMIT).map(drop).map_err(|error| match error {
            ClientError::Refused { refusal: Refusal::NoPowerSwitch(_), words } => {
                LabgridError::NoPowerSwitch { message: words }
            }
            error => LabgridError::Power(error),
        })
    }

    /// The board once its shell answers; after power-on that may take long.
    fn reached(&self, mut target: BoardTarget) -> Result<BoardTarget, LabgridError> {
        let begun = Instant::now();
        let limit = Duration::from_secs(self.place.boot_wait_seconds().into());
        let mut reported = String::new();
        loop {
            match target.prepare() {
                Ok(()) => return Ok(target),
                Err(error) if begun.elapsed() < limit && self.stop.count() == 0 => {
                    let why = LabgridError::of_board(error).to_string();
                    if reported != why {
                        (self.access.report)(&format!("waiting for the board to boot: {why}"));
                        reported = why;
                    }
                    self.pause(TRY_EVERY);
                }
                Err(error) if limit.is_zero() || self.stop.count() > 0 => return Err(LabgridError::of_board(error)),
                Err(error) => {
                    let last = Box::new(LabgridError::of_board(error));
                    return Err(LabgridError::NotBooted { limit, last });
                }
            }
        }
    }

    fn pause(&self, time: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < time && self.stop.count() == 0 {
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Runs `labgrid-client` and returns its output.
    fn client(&self, words: &[&str], limit: Duration) -> Result<String, ClientError> {
        let mut running = LocalTarget
            .start(&self.place.client_command(words))
            .map_err(|error| ClientError::NotStarted(error.to_string()))?;
        let mut output = Vec::new();
        while running.elapsed() < limit {
            match running.read(LOOK_EVERY) {
                super::Output::Bytes(bytes) => output.extend(bytes),
                super::Output::Quiet => {}
                super::Output::Closed => break,
            }
        }
        match running.wait(LOOK_EVERY * 10) {
            Some(Exit::Code(0)) => Ok(String::from_utf8_lossy(&output).into_owned()),
            Some(_) => {
                let words = running.diagnostics().join(" | ");
                Err(ClientError::Refused { refusal: Refusal::parse(&words), words })
            }
            None => {
                running.kill();
                Err(ClientError::TooLong { command: self.place.command(&words.join(" ")), limit })
            }
        }
    }

    fn give_back(&mut self) -> Result<(), LabgridError> {
        let closed = self.board.take().map_or(Ok(()), |mut board| board.close());
        let left = closed.map_err(|error| LabgridError::Target(Box::new(error)));
        let released = self.acquisition.take().map_or(Ok(()), Acquisition::release);
        self.lock = None;
        left.and(released)
    }

    fn reachable(&mut self) -> Option<&mut BoardTarget> {
        self.board.as_mut()
    }
}

fn unprepared() -> std::io::Error {
    std::io::Error::other("it has not been prepared")
}

impl Target for LabgridTarget {
    fn name(&self) -> &str {
        &self.name
    }

    fn prepare(&mut self) -> Result<(), TargetError> {
        self.prepared().map_err(|first| {
            let error = match self.give_back() {
                Ok(()) => first,
                Err(left) => LabgridError::NorGivenBack { first: Box::new(first), left: Box::new(left) },
            };
            TargetError::Prepare { target: self.name.clone(), why: error.into() }
        })
    }

    fn send_file(&mut self, from: &Path, to: &Path) -> Result<(), TargetError> {
        let target = self.name.clone();
        match self.reachable() {
            Some(board) => board.send_file(from, to),
            None => Err(TargetError::Copy { target, from: from.into(), to: to.into(), source: unprepared() }),
        }
    }

    fn start(&mut self, command: &Command) -> Result<Box<dyn RunningCommand>, TargetError> {
        let target = self.name.clone();
        match self.reachable() {
            Some(board) => board.start(command),
            None => Err(TargetError::Start { target, program: command.program.clone(), source: unprepared() }),
        }
    }

    fn fetch_file(&mut self, from: &Path, to: &Path) -> Result<(), TargetError> {
        let target = self.name.clone();
        match self.reachable() {
            Some(board) => board.fetch_file(from, to),
            None => Err(TargetError::Copy { target, from: from.into(), to: to.into(), source: unprepared() }),
        }
    }

    fn console(&self) -> Vec<u8> {
        self.notes.clone()
    }

    fn caveat(&self) -> Option<Caveat> {
        self.board.as_ref().and_then(Target::caveat)
    }

    fn notices(&mut self) -> Vec<Problem> {
        let mut notices = std::mem::take(&mut self.notices);
        notices.extend(self.reachable().map(Target::notices).unwrap_or_default());
        notices
    }

    fn close(&mut self) -> Result<(), TargetError> {
        self.give_back().map_err(|error| TargetError::GiveBack { target: self.name.clone(), why: error.into() })
    }
}

impl Drop for LabgridTarget {
    fn drop(&mut self) {
        // Errors cannot be reported here; `labgrid-client` shows the state of the place.
        let _ = self.give_back();
    }
}
