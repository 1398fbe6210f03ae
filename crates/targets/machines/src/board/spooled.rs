//! A run whose stream is spooled on the board: the connection may be lost at any time.

use super::connection::connect;
use super::error::BoardError;
use super::line::Line;
use super::reach::Reach;
use crate::{Exit, MachineEvent, Output, RunningCommand};
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

/// The connection that a target and its run share; `None` while it is down.
pub type SharedLine = Rc<RefCell<Option<Box<dyn Line>>>>;

const FIRST_ATTEMPT_AFTER: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Time for the last diagnostics of a command that has closed its output.
const LAST_OUTPUT: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(100);
/// Exit code of the meter if there is no spool; any other code is that of a lost connection.
const SPOOL_REFUSED: i32 = 2;

/// The exit of the meter, as recorded on the board.
#[derive(Debug, Clone, PartialEq, Eq)]
struct End {
    exit: Option<Exit>,
    bytes: u64,
}

/// The connection is down.
#[derive(Debug, Clone, Copy)]
struct Outage {
    since: Instant,
    next_attempt: Instant,
    pause: Duration,
}

/// An independently running measurement, and the connection to it.
pub struct SpooledRun {
    reach: Reach,
    line: SharedLine,
    emptied: Rc<Cell<bool>>,
    place: String,
    meter: String,
    attached: Option<Box<dyn RunningCommand>>,
    /// Bytes handed out so far.
    offset: u64,
    outage: Option<Outage>,
    /// Connected time before the current connection. Disconnected time does not count: the meter's limits do not depend
    /// on the connection.
    before: Duration,
    given_up: bool,
    end: Option<End>,
    words: Vec<String>,
    events: Vec<MachineEvent>,
}

impl SpooledRun {
    /// Attaches to the stream of a spool in this directory at byte `from`.
    ///
    /// # Errors
    /// [`BoardError`].
    pub fn attach(reach: Reach, line: SharedLine, place: &str, meter: &str, from: u64) -> Result<Self, BoardError> {
        let mut run = Self {
            reach,
            line,
            emptied: Rc::default(),
            place: place.into(),
            meter: meter.into(),
            attached: None,
            offset: from,
            outage: None,
            before: Duration::ZERO,
            given_up: false,
            end: None,
            words: Vec::new(),
            events: Vec::new(),
        };
        run.follow()?;
        Ok(run)
    }

    /// Whether the board no longer keeps anything of this run; set when the run has ended.
    pub fn emptied(&self) -> Rc<Cell<bool>> {
        Rc::clone(&self.emptied)
    }

    fn follow(&mut self) -> Result<(), BoardError> {
        let mut line = self.line.borrow_mut();
        let attached = line.as_mut().ok_or(BoardError::NotConnected)?.stream(&self.meter, self.offset);
        self.attached = Some(attached?);
        Ok(())
    }

    /// The command that delivers the stream has closed its output.
    fn closed(&mut self) -> Output {
        let Some(mut attached) = self.attached.take() else { return Output::Closed };
        let exit = attached.wait(LAST_OUTPUT);
        self.before += attached.elapsed();
        attached.kill();
        let mut words = attached.diagnostics();
        let end = words.last().and_then(|word| end_of(word));
        match (exit, end) {
            (Some(Exit::Code(0)), Some(end)) if end.bytes == self.offset => {
                words.pop();
                self.words = words;
                self.end = Some(end);
                let damage = self.reach.traffic.borrow().damage;
                if damage.is_any() {
                    self.events.push(MachineEvent::ConsoleDamaged(damage));
                }
                Output::Closed
            }
            (Some(Exit::Code(SPOOL_REFUSED)), _) => {
                self.words = words;
                self.end = Some(End { exit: None, bytes: self.offset });
                Output::Closed
            }
            _ => {
                let now = Instant::now();
                let next_attempt = now + FIRST_ATTEMPT_AFTER;
                self.outage = Some(Outage { since: now, next_attempt, pause: FIRST_ATTEMPT_AFTER });
                if let Some(line) = self.line.borrow_mut().take() {
                    line.abandon();
                }
                let last_output = words.last().cloned();
                self.events.push(MachineEvent::LineLost { machine: self.reach.name.clone(), last_output });
                Output::Quiet
            }
        }
    }

    /// While the connection is down: reconnects from time to time.
    fn try_again(&mut self, outage: Outage, wait: Duration) -> Output {
        let limit = Duration::from_secs(u64::from(self.reach.board.reconnect_minutes) * 60);
        if self.given_up || self.reach.stop.count() > 0 || outage.since.elapsed() > limit {
            self.given_up = true;
            return Output::Closed;
        }
        let left = outage.next_attempt.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            thread::sleep(left.min(wait));
            return Output::Quiet;
        }
        let connected = connect(&self.reach).and_then(|line| {
            if line.greeting().place != self.place {
                return Err(BoardError::AnotherBoard);
            }
            *self.line.borrow_mut() = Some(line);
            self.follow()
        });
        match connected {
            Ok(()) => {
                self.outage = None;
                let after = outage.since.elapsed();
                self.events.push(MachineEvent::LineBack { machine: self.reach.name.clone(), after });
            }
            // Results of another run can only be there if this run's results were removed before.
            Err(gone @ (BoardError::NothingKept | BoardError::ResultsLeft { .. })) => {
                self.emptied.set(true);
                self.words = vec![gone.to_string()];
                self.end = Some(End { exit: Some(Exit::MachineDown), bytes: self.offset });
                return Output::Closed;
            }
            Err(_) => {
                let pause = (outage.pause * 2).min(LONGEST_PAUSE);
                self.outage = Some(Outage { next_attempt: Instant::now() + pause, pause, ..outage });
            }
        }
        Output::Quiet
    }
}

/// The exit of the meter, from the last line of the command that delivered its stream.
fn end_of(word: &str) -> Option<End> {
    let (how, bytes) = word.strip_prefix("end ")?.split_once(" bytes ")?;
    let exit = match how.split_once(' ') {
        Some(("code", code)) => Some(Exit::Code(code.parse().ok()?)),
        Some(("signal", signal)) => Some(Exit::Signal(signal.parse().ok()?)),
        // Nothing recorded the exit: the board went down, or every process of the run was killed.
        _ => Some(Exit::MachineDown),
    };
    Some(End { exit, bytes: bytes.parse().ok()? })
}

impl RunningCommand for SpooledRun {
    /// Sends lines to the meter. Without a connection they are dropped: the run then continues by itself.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.attached {
            Some(attached) => attached.write(bytes),
            None => {
                self.given_up = true;
                Err(io::ErrorKind::NotConnected.into())
            }
        }
    }

    fn read(&mut self, wait: Duration) -> Output {
        if self.end.is_some() {
            return Output::Closed;
        }
        if let Some(outage) = self.outage {
            return self.try_again(outage, wait);
        }
        let read = self.attached.as_mut().map_or(Output::Closed, |attached| attached.read(wait));
        match read {
            Output::Closed => self.closed(),
            Output::Bytes(bytes) => {
                self.offset += bytes.len() as u64;
                Output::Bytes(bytes)
            }
            Output::Quiet => Output::Quiet,
        }
    }

    fn diagnostics(&mut self) -> Vec<String> {
        self.words.clone()
    }

    fn stored(&mut self, bytes: u64) {
        if let Some(attached) = &mut self.attached {
            // If the connection is down, it is reported later.
            let _ = attached.write(format!("have {bytes}\n").as_bytes());
        }
    }

    fn events(&mut self) -> Vec<MachineEvent> {
        std::mem::take(&mut self.events)
    }

    fn left_behind(&self) -> bool {
        self.given_up && self.end.is_none()
    }

    /// Asks the board to kill it; the meter's changes are restored there.
    fn kill(&mut self) {
        let _ = self.write(b"kill\n");
    }

    fn wait(&mut self, limit: Duration) -> Option<Exit> {
        let begun = Instant::now();
        while self.end.is_none() && begun.elapsed() < limit {
            if self.read(POLL) == Output::Closed {
                break;
            }
        }
        self.end.as_ref().and_then(|end| end.exit)
    }

    fn elapsed(&self) -> Duration {
        self.before + self.attached.as_ref().map_or(Duration::ZERO, |attached| attached.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_says_how_it_ended() {
        assert_eq!(end_of("end code 0 bytes 17"), Some(End { exit: Some(Exit::Code(0)), bytes: 17 }));
        assert_eq!(end_of("end signal 9 bytes 1"), Some(End { exit: Some(Exit::Signal(9)), bytes: 1 }));
        assert_eq!(end_of("end gone bytes 1"), Some(End { exit: Some(Exit::MachineDown), bytes: 1 }));
        for word in ["", "end", "end code x bytes 1", "end code 0", "mux_client_request_session: read failed"] {
            assert_eq!(end_of(word), None, "{word}");
        }
    }
}
