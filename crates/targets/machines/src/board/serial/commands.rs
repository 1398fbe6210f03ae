//! The host's view of commands on the board: short programs, and the stream of a spool.

use super::Talk;
use super::error::PortError;
use super::exchange::{Exchange, Step};
use crate::{Exit, Output, RunningCommand};
use protocol::console::{Answer, Question, StreamEnd};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Bytes of a stretch. A larger value delays a stop; a smaller one needs more questions.
const STRETCH_BYTES: u64 = 16 << 10;
const POLL: Duration = Duration::from_millis(100);

/// A program that gets all its input at once, and is started by the first wait for its output.
pub struct Program {
    talk: Rc<RefCell<Talk>>,
    question: Question,
    input: Vec<u8>,
    state: State,
    begun: Instant,
}

enum State {
    Waiting,
    Asked,
    /// Its output until it is taken, its last diagnostics, and its exit.
    Ended {
        output: Option<Vec<u8>>,
        complaints: Vec<String>,
        exit: Option<Exit>,
    },
}

impl Program {
    pub fn new(talk: Rc<RefCell<Talk>>, program: &str, arguments: Vec<String>) -> Self {
        let question = Question::Run { program: program.into(), arguments };
        Self { talk, question, input: Vec::new(), state: State::Waiting, begun: Instant::now() }
    }

    /// Runs it for this time; true if it has ended.
    fn step(&mut self, wait: Duration) -> bool {
        if matches!(self.state, State::Ended { .. }) {
            return true;
        }
        let mut talk = self.talk.borrow_mut();
        let step = match (talk.exchange(), &self.state) {
            (Err(error), _) => Step::Down(error),
            (Ok(exchange), State::Waiting) => match exchange.ask(&self.question, &self.input) {
                Ok(()) => {
                    self.state = State::Asked;
                    exchange.step(wait)
                }
                Err(error) => Step::Down(error.into()),
            },
            (Ok(exchange), _) => exchange.step(wait),
        };
        let ended = |output, complaints, exit| State::Ended { output: Some(output), complaints, exit };
        self.state = match step {
            Step::Waiting => return false,
            Step::Answer(Answer::Ended { code, signal, complaints }, output) => {
                let exit = code.map(Exit::Code).or(signal.map(Exit::Signal));
                ended(output, complaints, exit)
            }
            Step::Answer(Answer::Refused { why }, _) => ended(Vec::new(), vec![why], Some(Exit::Code(127))),
            Step::Answer(..) => ended(Vec::new(), vec!["the meter answered something else".into()], None),
            Step::Down(error) => ended(Vec::new(), vec![format!("the line is down: {error}")], None),
        };
        true
    }
}

impl RunningCommand for Program {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !matches!(self.state, State::Waiting) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.input.extend_from_slice(bytes);
        Ok(())
    }

    fn read(&mut self, wait: Duration) -> Output {
        if !self.step(wait) {
            return Output::Quiet;
        }
        match &mut self.state {
            State::Ended { output, .. } => {
                output.take().filter(|output| !output.is_empty()).map_or(Output::Closed, Output::Bytes)
            }
            _ => Output::Quiet,
        }
    }

    fn diagnostics(&mut self) -> Vec<String> {
        if let State::Ended { complaints, .. } = &self.state { complaints.clone() } else { Vec::new() }
    }

    /// Lets it run to its end, which comes soon.
    fn kill(&mut self) {
        self.state = State::Ended { output: None, complaints: Vec::new(), exit: None };
    }

    fn wait(&mut self, limit: Duration) -> Option<Exit> {
        let begun = Instant::now();
        while !self.step(POLL) && begun.elapsed() < limit {}
        if let State::Ended { exit, .. } = &self.state { *exit } else { None }
    }

    fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }
}

/// The stream of a spool from a byte offset on.
pub struct Stream {
    talk: Rc<RefCell<Talk>>,
    offset: u64,
    /// Lines for the spooler.
    words: VecDeque<String>,
    asked: Asked,
    end: Option<Over>,
    clock: Clock,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Nothing,
    Word,
    Stretch,
}

/// Why the stream has ended.
struct Over {
    diagnostics: Vec<String>,
    exit: Option<Exit>,
}

/// Time that counts for limits on the meter. While the line is behind it stands still, because the meter has sent data
/// that was not received yet.
struct Clock {
    counted: Duration,
    since: Instant,
    behind: bool,
}

impl Clock {
    fn set_behind(&mut self, behind: bool) {
        self.counted = self.elapsed();
        self.since = Instant::now();
        self.behind = behind;
    }

    fn elapsed(&self) -> Duration {
        self.counted + if self.behind { Duration::ZERO } else { self.since.elapsed() }
    }
}

impl Stream {
    pub fn new(talk: Rc<RefCell<Talk>>, offset: u64) -> Self {
        let clock = Clock { counted: Duration::ZERO, since: Instant::now(), behind: false };
        Self { talk, offset, words: VecDeque::new(), asked: Asked::Nothing, end: None, clock }
    }

    fn step(&mut self, wait: Duration) -> Output {
        let talk = Rc::clone(&self.talk);
        let mut talk = talk.borrow_mut();
        let stepped = talk.exchange().and_then(|exchange| {
            self.ask(exchange)?;
            Ok(exchange.step(wait))
        });
        let asked = self.asked;
        match stepped {
            Ok(Step::Waiting) => return Output::Quiet,
            Ok(Step::Answer(Answer::Stretch { written, end }, bytes)) if asked == Asked::Stretch => {
                self.asked = Asked::Nothing;
                self.offset += bytes.len() as u64;
                self.clock.set_behind(self.offset < written);
                if !bytes.is_empty() {
                    return Output::Bytes(bytes);
                }
                match end.filter(|end| self.offset >= end.bytes) {
                    None => return Output::Quiet,
                    Some(end) => self.end = Some(Over { diagnostics: last_output(end), exit: Some(Exit::Code(0)) }),
                }
            }
            Ok(Step::Answer(Answer::Refused { why }, _)) => {
                self.end = Some(Over { diagnostics: vec![why], exit: Some(Exit::Code(REFUSED)) });
            }
            Ok(Step::Answer(..)) => {
                self.asked = Asked::Nothing;
                return Output::Quiet;
            }
            Ok(Step::Down(error)) | Err(error) => {
                self.end = Some(Over { diagnostics: vec![error.to_string()], exit: None });
            }
        }
        Output::Closed
    }

    /// Asks the next question if none is pending.
    fn ask(&mut self, exchange: &mut Exchange) -> Result<(), PortError> {
        if self.asked != Asked::Nothing && exchange.is_asking() {
            return Ok(());
        }
        let (question, asked) = match self.words.pop_front() {
            Some(line) => (Question::Send { line }, Asked::Word),
            None => (Question::Read { offset: self.offset, bytes_max: STRETCH_BYTES }, Asked::Stretch),
        };
        self.asked = asked;
        exchange.ask(&question, b"")
    }
}

/// Exit code of the meter's own command if there is no spool.
const REFUSED: i32 = 2;

/// The last lines of the command that delivers a stream.
fn last_output(end: StreamEnd) -> Vec<String> {
    let mut words = end.words;
    words.push(format!("end {} bytes {}", end.how, end.bytes));
    words
}

impl RunningCommand for Stream {
    /// Sends lines to the spooler.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.end.is_some() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.words.extend(String::from_utf8_lossy(bytes).lines().map(str::to_owned));
        Ok(())
    }

    fn read(&mut self, wait: Duration) -> Output {
        if self.end.is_some() { Output::Closed } else { self.step(wait) }
    }

    fn diagnostics(&mut self) -> Vec<String> {
        self.end.as_ref().map(|over| over.diagnostics.clone()).unwrap_or_default()
    }

    /// Detaches; the run continues there.
    fn kill(&mut self) {
        if self.end.is_none() {
            self.end = Some(Over { diagnostics: Vec::new(), exit: None });
        }
    }

    fn wait(&mut self, _limit: Duration) -> Option<Exit> {
        self.end.as_ref().and_then(|over| over.exit)
    }

    fn elapsed(&self) -> Duration {
        self.clock.elapsed()
    }
}
