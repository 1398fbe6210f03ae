//! Answers the questions of a host whose only connection is a console, to which the kernel also prints.
//!
//! Questions are answered one at a time. The last answer is kept until the next question: damaged pieces of it are sent
//! again, and a repeated question is not executed twice.

mod error;
mod program;
mod terminal;

use crate::spool::control::{Line as Word, say};
use crate::spool::{ledger, stretch};
use error::ConsoleError;
use program::Running;
use protocol::console::letter::{Gathered, Line, Piece, Side, lines};
use protocol::console::{Answer, CONSOLE_VERSION, Question, StreamEnd, pack, unpack};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::Write;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const USAGE: &str = "usage: tardy-meter console DIR
`tardy run` on a board behind a serial line starts this on the board.";
/// After this silence the host counts as gone; a serial line is never hung up.
const IDLE_LIMIT: Duration = Duration::from_secs(120);
/// How long to wait for new data if the host has everything.
const NEWS_WAIT: Duration = Duration::from_millis(400);
const NEWS_POLL: Duration = Duration::from_millis(20);
const BUSY_EVERY: Duration = Duration::from_secs(1);
/// A host further behind than this needs no messages that are only for display.
const BEHIND_BYTES: u64 = 32 << 10;
const STRETCH_BYTES_MAX: u64 = 1 << 20;
const UNREAD_BYTES_MAX: usize = 64 << 10;
/// Ctrl-C: sent by a host to end an earlier session.
const INTERRUPT: u8 = 3;

/// Runs the subcommand with these arguments; returns the exit code.
pub fn run(words: &[String]) -> i32 {
    let [place] = words else {
        eprintln!("{USAGE}");
        return 2;
    };
    let _quiet = terminal::Quiet::make();
    let mut desk = Desk::new(place.as_ref(), rustix::stdio::stdin(), std::io::stdout());
    match desk.serve() {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("tardy-meter: {error}\r");
            1
        }
    }
}

/// The board's side of a conversation.
struct Desk<'a, W: Write> {
    place: PathBuf,
    input: BorrowedFd<'a>,
    output: W,
    unread: Vec<u8>,
    /// The incoming question.
    question: Option<(u32, Gathered)>,
    /// The last answer, in lines.
    answered: Option<(u32, Vec<String>)>,
}

impl<'a, W: Write> Desk<'a, W> {
    fn new(place: &Path, input: BorrowedFd<'a>, output: W) -> Self {
        Self { place: place.into(), input, output, unread: Vec::new(), question: None, answered: None }
    }

    /// Answers until the host ends the conversation.
    fn serve(&mut self) -> Result<(), ConsoleError> {
        self.send(&Line::Ready { version: CONSOLE_VERSION })?;
        let mut heard = Instant::now();
        while heard.elapsed() < IDLE_LIMIT {
            for line in self.heard(BUSY_EVERY)? {
                heard = Instant::now();
                match line {
                    Line::Piece(piece) if piece.from == Side::Host => {
                        let question = self.take(piece)?;
                        if question == Some(Question::Bye) {
                            return Ok(());
                        }
                    }
                    Line::Missing { letter: 0, .. } => self.send(&Line::Ready { version: CONSOLE_VERSION })?,
                    Line::Missing { letter, numbers } => self.repeat(letter, &numbers)?,
                    _ => {}
                }
            }
        }
        Err(ConsoleError::Idle { seconds: IDLE_LIMIT.as_secs() })
    }

    /// The lines received within this time; empty if there is no valid one.
    fn heard(&mut self, wait: Duration) -> Result<Vec<Line>, ConsoleError> {
        let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
        let ready = poll(&mut [PollFd::new(&self.input, PollFlags::IN)], Some(&wait));
        if !matches!(ready, Ok(count) if count > 0) {
            return Ok(Vec::new());
        }
        let mut bytes = [0; 4096];
        let count = match rustix::io::read(self.input, &mut bytes) {
            Ok(count @ 1..) => count,
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => return Ok(Vec::new()),
            _ => return Err(ConsoleError::Closed),
        };
        if bytes[..count].contains(&INTERRUPT) {
            return Err(ConsoleError::Replaced);
        }
        self.unread.extend_from_slice(&bytes[..count]);
        let whole = self.unread.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let text: Vec<u8> = self.unread.drain(..whole).collect();
        if self.unread.len() > UNREAD_BYTES_MAX {
            self.unread.clear();
        }
        Ok(String::from_utf8_lossy(&text).lines().filter_map(Line::parse).collect())
    }

    /// Adds a piece; returns the question once it is complete and must be answered.
    fn take(&mut self, piece: Piece) -> Result<Option<Question>, ConsoleError> {
        let (letter, first) = (piece.letter, piece.number == 0);
        if self.answered.as_ref().is_some_and(|(answered, _)| *answered == letter) {
            // The answer was lost: repeat all of it, once per repeated question.
            return if first { self.repeat(letter, &[]).map(|()| None) } else { Ok(None) };
        }
        if self.question.as_ref().is_none_or(|(arriving, _)| *arriving != letter) {
            self.question = Some((letter, Gathered::default()));
        }
        let Some((_, gathered)) = &mut self.question else { return Ok(None) };
        gathered.take(piece);
        let Some(whole) = gathered.whole() else { return Ok(None) };
        self.question = None;
        let Some((question, bytes)) = unpack::<Question>(&whole) else {
            let why = "it is a question of another version; use the meter of this tardy".to_owned();
            return self.answer(letter, &Answer::Refused { why }, &[]).map(|()| None);
        };
        let (answer, bytes) = self.found(letter, &question, &bytes)?;
        self.answer(letter, &answer, &bytes)?;
        Ok(Some(question))
    }

    fn found(&mut self, letter: u32, question: &Question, bytes: &[u8]) -> Result<(Answer, Vec<u8>), ConsoleError> {
        Ok(match question {
            Question::Run { program, arguments } => match Running::start(program, arguments, bytes) {
                Ok(running) => self.ran(letter, running)?,
                Err(error) => (refused(format!("failed to start {program}: {error}")), Vec::new()),
            },
            Question::Read { offset, bytes_max } => match self.stretch(*offset, (*bytes_max).min(STRETCH_BYTES_MAX)) {
                Ok(found) => found,
                Err(error) => (refused(error.to_string()), Vec::new()),
            },
            Question::Send { line } => {
                if let Some(word) = Word::parse(line) {
                    say(&ledger::directory(&self.place), word);
                }
                (Answer::Done, Vec::new())
            }
            Question::Bye => (Answer::Done, Vec::new()),
        })
    }

    /// Runs a program to its end. It is killed if the host disappears.
    fn ran(&mut self, letter: u32, mut running: Running) -> Result<(Answer, Vec<u8>), ConsoleError> {
        let mut reported_at = Instant::now();
        loop {
            if let Some(ended) = running.ended() {
                return Ok(ended);
            }
            let still_there = match reported_at.elapsed() < BUSY_EVERY {
                true => Ok(()),
                false => {
                    reported_at = Instant::now();
                    self.send(&Line::Busy { letter })
                }
            };
            // Questions received meanwhile will be repeated by the host.
            if let Err(error) = still_there.and_then(|()| self.heard(NEWS_POLL)) {
                running.kill();
                return Err(error);
            }
        }
    }

    fn stretch(&self, offset: u64, bytes_max: u64) -> Result<(Answer, Vec<u8>), ConsoleError> {
        let begun = Instant::now();
        loop {
            let found = stretch::read(&self.place, offset, bytes_max as usize)?;
            if found.bytes.is_empty() && found.end.is_none() && begun.elapsed() < NEWS_WAIT {
                std::thread::sleep(NEWS_POLL);
                continue;
            }
            let behind = found.written.saturating_sub(offset) > BEHIND_BYTES;
            say(&ledger::directory(&self.place), if behind { Word::Behind } else { Word::Here });
            let end = found.end.map(|end| StreamEnd { how: end.how, bytes: end.bytes, words: end.words });
            return Ok((Answer::Stretch { written: found.written, end }, found.bytes));
        }
    }

    fn answer(&mut self, letter: u32, answer: &Answer, bytes: &[u8]) -> Result<(), ConsoleError> {
        self.answered = Some((letter, lines(Side::Board, letter, &pack(answer, bytes))));
        self.repeat(letter, &[])
    }

    /// Sends the listed pieces of the last answer, or all of them.
    fn repeat(&mut self, letter: u32, numbers: &[u32]) -> Result<(), ConsoleError> {
        let Some((_, pieces)) = self.answered.as_ref().filter(|(answered, _)| *answered == letter) else {
            return Ok(());
        };
        let wanted = numbers.iter().filter_map(|number| pieces.get(*number as usize));
        let text: String = if numbers.is_empty() { pieces.concat() } else { wanted.map(String::as_str).collect() };
        write(&mut self.output, &text)
    }

    fn send(&mut self, line: &Line) -> Result<(), ConsoleError> {
        write(&mut self.output, &line.text())
    }
}

fn refused(why: String) -> Answer {
    Answer::Refused { why }
}

fn write(output: &mut impl Write, text: &str) -> Result<(), ConsoleError> {
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(ConsoleError::Write)
}

#[cfg(test)]
mod tests;
