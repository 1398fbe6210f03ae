//! A board over OpenSSH: one connection, with the session as its first session.

use super::MeterCopy;
use super::board_file::Board;
use super::error::{BoardError, SendError};
use super::line::{Line, send};
use super::openssh::{Login, Share, SshError, command, diagnosis};
use super::reach::Reach;
use super::session::Greeting;
use super::shell::quoted;
use crate::local::LocalTarget;
use crate::scratch::Scratch;
use crate::{Output, RunningCommand, Target};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// From the start of ssh until the board's shell has answered.
const CONNECT_LIMIT: Duration = Duration::from_secs(40);
const TIDY_LIMIT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(100);
const UNREAD_BYTES_MAX: usize = 64 << 10;

/// A connection that is up, as far as known.
pub struct SshLine {
    board: Board,
    session: Box<dyn RunningCommand>,
    greeting: Greeting,
    scratch: Scratch,
}

/// Opens the connection and has the session examine the board.
///
/// # Errors
/// [`BoardError`].
pub fn connect(reach: &Reach) -> Result<SshLine, BoardError> {
    let scratch = Scratch::make("ssh").map_err(BoardError::NoSocket)?;
    let (session, greeting) = greet(reach, &scratch)?;
    reach.admitted(&greeting)?;
    Ok(SshLine { board: reach.board.clone(), session, greeting, scratch })
}

fn greet(reach: &Reach, scratch: &Scratch) -> Result<(Box<dyn RunningCommand>, Greeting), SshError> {
    let master = command(&reach.board, &control(scratch), Share::Master, &reach.request().script());
    let mut session = LocalTarget.start(&master).map_err(|error| SshError::NotStarted(Box::new(error)))?;
    let mut greeting = Greeting::default();
    let mut unread = Vec::new();
    while !greeting.is_over() {
        match session.read(POLL) {
            // A login that prints endlessly never reaches the session.
            Output::Bytes(bytes) if unread.len() < UNREAD_BYTES_MAX => unread.extend(bytes),
            Output::Bytes(_) => unread.clear(),
            Output::Quiet if reach.stop.count() > 0 => {
                session.kill();
                return Err(SshError::Stopped);
            }
            Output::Quiet if session.elapsed() < CONNECT_LIMIT => {}
            Output::Quiet => {
                session.kill();
                return Err(SshError::NoAnswer { limit: CONNECT_LIMIT, login: Login::of(&reach.board) });
            }
            Output::Closed => {
                session.wait(POLL * 10);
                return Err(diagnosis(&reach.board, &session.diagnostics()));
            }
        }
        while let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = unread.drain(..=end).collect();
            greeting.take(&String::from_utf8_lossy(&line));
        }
    }
    Ok((session, greeting))
}

fn control(scratch: &Scratch) -> PathBuf {
    scratch.0.join("line")
}

impl Line for SshLine {
    fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    fn shell(&mut self, script: &str) -> io::Result<Box<dyn RunningCommand>> {
        let command = command(&self.board, &control(&self.scratch), Share::Guest, script);
        LocalTarget.start(&command).map_err(|error| io::Error::other(error.to_string()))
    }

    fn meter(&mut self, meter: &str, words: &[&str]) -> io::Result<Box<dyn RunningCommand>> {
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let place = quoted(&self.greeting.place);
        self.shell(&format!("cd {place} && TARDY_STATE_DIR={place} exec ./{meter} {}", words.join(" ")))
    }

    fn stream(&mut self, meter: &str, from: u64) -> io::Result<Box<dyn RunningCommand>> {
        self.meter(meter, &["spool", "attach", ".", &from.to_string()])
    }

    fn send_meter(&mut self, meter: &MeterCopy, alone: bool) -> Result<(), SendError> {
        let before = if alone { "rm -f meter-*" } else { ":" };
        let to = format!("{}/{}", self.greeting.place, meter.name);
        send(self, &meter.bytes, &to, true, before)
    }

    fn fetched(&mut self) {
        // If the session is gone, the results stay there; the next run reports that.
        let _ = self.session.write(b"fetched\n");
    }

    fn end(mut self: Box<Self>) {
        // A session that is gone has cleaned up, or cannot be reached.
        let _ = self.session.write(b"end\n");
        if self.session.wait(TIDY_LIMIT).is_none() {
            self.session.kill();
        }
    }

    fn abandon(mut self: Box<Self>) {
        self.session.kill();
        self.session.wait(POLL);
    }
}
