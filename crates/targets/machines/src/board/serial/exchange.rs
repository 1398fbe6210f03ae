//! Questions to the meter on a console, and its answers, assembled from pieces.

use super::dialogue::{Dialogue, is_keepers};
use super::error::{PortError, SerialError};
use super::session_message::SessionMessage;
use protocol::console::letter::{Gathered, Line, Side, lines};
use protocol::console::{Answer, CONSOLE_VERSION, Question, pack, unpack};
use std::time::{Duration, Instant};

/// Characters of the longest line, including framing.
const LINE_LETTERS: u64 = 256;
const BITS_A_LETTER: u64 = 10;
/// After this number of quiet periods without a valid line the board counts as gone.
const QUIET_TIMES_MAX: u32 = 12;

/// Result of a step.
#[derive(Debug, PartialEq)]
pub enum Step {
    Answer(Answer, Vec<u8>),
    Waiting,
    /// The line is dead, for this reason.
    Down(SerialError),
}

/// A pending question.
struct Asked {
    letter: u32,
    lines: Vec<String>,
    gathered: Gathered,
    /// Number of re-requested pieces that have not come.
    awaited: usize,
    /// Whether the last piece of the original answer has come.
    passed: bool,
    /// Time of the board's last valid line.
    last_sign: Instant,
    /// Time of the last question or re-request.
    asked: Instant,
}

/// A conversation with a listening meter.
pub struct Exchange {
    /// With the session, which listens when the meter does not.
    pub dialogue: Dialogue,
    letter: u32,
    asked: Option<Asked>,
    /// If nothing is received for this time, nothing is on its way.
    quiet: Duration,
}

impl Exchange {
    pub fn new(dialogue: Dialogue, baud: u32) -> Self {
        let line = Duration::from_micros(LINE_LETTERS * BITS_A_LETTER * 1_000_000 / u64::from(baud.max(1)));
        Self { dialogue, letter: 0, asked: None, quiet: Duration::from_secs(1) + line * 3 }
    }

    /// Waits until the meter reports that it listens.
    ///
    /// # Errors
    /// [`SerialError`], with the output that was received instead.
    pub fn greet(&mut self, limit: Duration) -> Result<(), SerialError> {
        let (begun, mut asked) = (Instant::now(), Instant::now());
        let mut words = Vec::new();
        while begun.elapsed() < limit {
            for line in self.dialogue.reader.lines(Duration::from_millis(100))? {
                match Line::parse(&line) {
                    Some(Line::Ready { version: CONSOLE_VERSION }) => return Ok(()),
                    Some(Line::Ready { version }) => {
                        return Err(SerialError::Version { version });
                    }
                    _ => {
                        self.dialogue.overhear(&line);
                        words.push(line);
                    }
                }
            }
            if let Some(message) = self.dialogue.next_line() {
                return Err(in_place_of_the_meter(message, last(&words)));
            }
            if asked.elapsed() > self.quiet {
                asked = Instant::now();
                self.dialogue.reader.port.write(Line::Missing { letter: 0, numbers: Vec::new() }.text().as_bytes())?;
            }
        }
        Err(SerialError::MeterSilent { last_output: last(&words) })
    }

    /// Whether an answer is pending.
    pub fn is_asking(&self) -> bool {
        self.asked.is_some()
    }

    /// Asks a question; a pending one is dropped.
    ///
    /// # Errors
    /// The line is dead.
    pub fn ask(&mut self, question: &Question, bytes: &[u8]) -> Result<(), PortError> {
        self.letter += 1;
        let now = Instant::now();
        let lines = lines(Side::Host, self.letter, &pack(question, bytes));
        let written = self.dialogue.reader.port.write(lines.concat().as_bytes());
        let gathered = Gathered::default();
        self.asked =
            Some(Asked { letter: self.letter, lines, gathered, awaited: 0, passed: false, last_sign: now, asked: now });
        written
    }

    /// Receives lines for at most `wait`, and requests missing pieces again.
    pub fn step(&mut self, wait: Duration) -> Step {
        let begun = Instant::now();
        loop {
            let received = self.dialogue.reader.lines(wait.saturating_sub(begun.elapsed()));
            let lines = match received {
                Ok(lines) => lines,
                Err(error) => return Step::Down(error.into()),
            };
            for line in &lines {
                if let Some(whole) = self.take(line) {
                    self.asked = None;
                    return match unpack(&whole) {
                        Some((answer, bytes)) => Step::Answer(answer, bytes),
                        None => Step::Down(SerialError::UnknownAnswer),
                    };
                }
            }
            if let Some(message) = self.dialogue.next_line() {
                return Step::Down(in_place_of_the_meter(message, String::new()));
            }
            if let Err(error) = self.insist() {
                return Step::Down(error);
            }
            if begun.elapsed() >= wait {
                return Step::Waiting;
            }
        }
    }

    /// Processes a line; returns the answer when the last piece has come.
    fn take(&mut self, line: &str) -> Option<Vec<u8>> {
        let parsed = Line::parse(line);
        if parsed.is_none() {
            self.dialogue.overhear(line);
        }
        let asked = self.asked.as_mut()?;
        match parsed? {
            Line::Piece(piece) if piece.from == Side::Board && piece.letter == asked.letter => {
                asked.last_sign = Instant::now();
                let last = piece.number + 1 == piece.count;
                if asked.gathered.take(piece) {
                    self.dialogue.reader.count(1, 0);
                    asked.passed = if asked.awaited > 0 { asked.awaited == 1 } else { last };
                    asked.awaited = asked.awaited.saturating_sub(1);
                    return asked.gathered.whole();
                }
            }
            Line::Busy { letter } if letter == asked.letter => asked.last_sign = Instant::now(),
            _ => {}
        }
        None
    }

    /// Requests missing pieces again if nothing is on its way any more.
    fn insist(&mut self) -> Result<(), SerialError> {
        let Some(asked) = &mut self.asked else { return Ok(()) };
        if asked.last_sign.elapsed() >= self.quiet * QUIET_TIMES_MAX {
            return Err(SerialError::NothingWhole(self.quiet * QUIET_TIMES_MAX));
        }
        let begun = asked.gathered.is_begun();
        let patience = if begun { self.quiet } else { self.quiet * 2 };
        if !asked.passed && asked.last_sign.max(asked.asked).elapsed() < patience {
            return Ok(());
        }
        asked.passed = false;
        asked.asked = Instant::now();
        if !begun {
            // The question was lost, or its whole answer.
            return Ok(self.dialogue.reader.port.write(asked.lines.concat().as_bytes())?);
        }
        let missing = asked.gathered.missing();
        asked.awaited = missing.len();
        self.dialogue.reader.count(0, missing.len());
        let line = Line::Missing { letter: asked.letter, numbers: missing };
        Ok(self.dialogue.reader.port.write(line.text().as_bytes())?)
    }

    /// Ends the conversation with the meter. Returns whether the session has already reported that the meter left: this
    /// replaces a damaged answer, which nothing is left to repeat.
    ///
    /// # Errors
    /// The line is dead, or neither came within this time.
    pub fn good_bye(&mut self, limit: Duration) -> Result<bool, SerialError> {
        match self.answer(&Question::Bye, b"", limit) {
            Ok(_) => Ok(false),
            Err(SerialError::Left { .. }) => {
                self.asked = None;
                Ok(true)
            }
            Err(error) => Err(error),
        }
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// The line is dead, or the answer took too long.
    pub fn answer(
        &mut self,
        question: &Question,
        bytes: &[u8],
        limit: Duration,
    ) -> Result<(Answer, Vec<u8>), SerialError> {
        self.ask(question, bytes)?;
        let begun = Instant::now();
        while begun.elapsed() < limit {
            match self.step(Duration::from_millis(100)) {
                Step::Answer(answer, bytes) => return Ok((answer, bytes)),
                Step::Waiting => {}
                Step::Down(error) => return Err(error),
            }
        }
        Err(SerialError::NoAnswer(limit))
    }
}

/// A line of the session while a meter should answer means that the meter ended.
fn in_place_of_the_meter(message: String, last_output: String) -> SerialError {
    match SessionMessage::parse(&message) {
        SessionMessage::Served => SerialError::Left { last_output },
        _ => SerialError::Session { message, last_output },
    }
}

/// The last non-empty lines.
fn last(words: &[String]) -> String {
    let lines: Vec<&str> =
        words.iter().map(|line| line.trim()).filter(|line| !line.is_empty() && !is_keepers(line)).collect();
    lines[lines.len().saturating_sub(3)..].join(" | ")
}
