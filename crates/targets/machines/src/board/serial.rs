//! A board on a serial line: only a console.
//!
//! [`login`] gets from the login prompt to a shell, [`dialogue`] from there to the session. The session receives the
//! meter in blocks of text ([`sending`]) and has it answer questions on the same line ([`exchange`], [`commands`]). The
//! kernel may print on the console at any time: everything received is checked, and requested again if it was damaged
//! ([`reader`]).

mod commands;
mod dialogue;
pub mod error;
mod exchange;
#[cfg(fuzzing)]
pub mod fuzzing;
mod login;
mod occupied;
mod port;
mod reader;
mod sending;
mod session_message;

use super::board_file::Board;
use super::error::{BoardError, SendError};
use super::line::Line;
use super::reach::Reach;
use super::session::Greeting;
use super::{MeterCopy, hex};
use crate::RunningCommand;
use crate::stop::StopRequests;
use commands::{Program, Stream};
use dialogue::Dialogue;
use error::SerialError;
use exchange::Exchange;
use login::Shell;
use port::Port;
use reader::ConsoleReader;
use sending::{Manner, Tools};
use session_message::SessionMessage;
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

const BAUD: u32 = 115_200;
/// Time limit for the session's greeting; it may have to end a run first.
const GREET_LIMIT: Duration = Duration::from_secs(30);
const LISTEN_LIMIT: Duration = Duration::from_secs(3);
/// Loading a meter of a few megabytes from a slow disk takes long.
const SERVE_LIMIT: Duration = Duration::from_secs(20);
/// A busy board needs seconds for each damaged line.
const BYE_LIMIT: Duration = Duration::from_secs(20);
const TIDY_LIMIT: Duration = Duration::from_secs(20);
const TRIES: usize = 3;
const END_OF_INPUT: &str = "\n\x04";
const INTERRUPT: &[u8] = b"\x03\n";

fn baud(board: &Board) -> u32 {
    board.baud.unwrap_or(BAUD)
}

/// The listener at the other end of the line.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Listener {
    Session,
    Meter,
    Nobody { why: SerialError },
}

/// The single line, used for one conversation at a time.
struct Talk {
    exchange: Exchange,
    listener: Listener,
    /// The meter that should answer.
    meter: String,
}

impl Talk {
    /// The conversation with the meter, started if necessary.
    fn exchange(&mut self) -> Result<&mut Exchange, SerialError> {
        match &self.listener {
            Listener::Meter => {}
            Listener::Nobody { why } => return Err(why.clone()),
            Listener::Session => {
                let begun = self.exchange.dialogue.say(&format!("serve {}", self.meter));
                begun.map_err(SerialError::from).and_then(|()| self.exchange.greet(SERVE_LIMIT)).inspect_err(
                    |why| {
                        self.listener = Listener::Nobody { why: why.clone() };
                    },
                )?;
                self.listener = Listener::Meter;
            }
        }
        Ok(&mut self.exchange)
    }

    /// Returns to the conversation with the session.
    fn session(&mut self) -> Result<&mut Dialogue, SerialError> {
        if self.listener == Listener::Meter {
            let gone = self.dismiss().err();
            self.listener = gone.map_or(Listener::Session, |why| Listener::Nobody { why });
        }
        match &self.listener {
            Listener::Nobody { why } => Err(why.clone()),
            _ => Ok(&mut self.exchange.dialogue),
        }
    }

    fn dismiss(&mut self) -> Result<(), SerialError> {
        if self.exchange.is_asking() {
            // The meter there is of no more use; the session takes over after it.
            self.exchange.dialogue.reader.port.write(INTERRUPT)?;
            return Err(SerialError::Interrupted);
        }
        if self.exchange.good_bye(BYE_LIMIT)? {
            return Ok(());
        }
        let served = |words: &str| (SessionMessage::parse(words) == SessionMessage::Served).then_some(());
        // A run that was stopped still cleans up the board.
        self.exchange.dialogue.listen(BYE_LIMIT, &StopRequests::default(), served)
    }
}

/// A line with a session at its other end.
pub struct SerialLine {
    talk: Rc<RefCell<Talk>>,
    greeting: Greeting,
    tools: Tools,
    baud: u32,
    stop: StopRequests,
    report: fn(&str),
}

/// Opens the line, logs in if requested, and has the session examine the board.
///
/// # Errors
/// [`BoardError`].
pub fn connect(reach: &Reach) -> Result<SerialLine, BoardError> {
    let (dialogue, greeting, tools) = greeted(reach)?;
    reach.admitted(&greeting).inspect_err(|_| dismiss(&dialogue))?;
    let baud = baud(&reach.board);
    let exchange = Exchange::new(dialogue, baud);
    let talk = Talk { exchange, listener: Listener::Session, meter: String::new() };
    let (stop, report) = (reach.stop.clone(), reach.report);
    Ok(SerialLine { talk: Rc::new(RefCell::new(talk)), greeting, tools, baud, stop, report })
}

fn greeted(reach: &Reach) -> Result<(Dialogue, Greeting, Tools), SerialError> {
    let board = &reach.board;
    let port = Port::open(&board.address, baud(board))?;
    let shell = login::shell(&port, board, &reach.stop)?;
    let mut dialogue = Dialogue::new(ConsoleReader::new(port, Rc::clone(&reach.traffic)));
    let script = plain(&reach.request().console_script());
    for _ in 0..TRIES {
        dialogue.reader.port.write(typed(&script, shell, board.sudo).as_bytes())?;
        // If a kernel message interrupts this text, the wait only takes longer.
        dialogue.await_words("tardy listens", LISTEN_LIMIT)?;
        // Everything before it is an echo, or output of an earlier session.
        dialogue.start_over();
        dialogue.reader.port.write(format!("{script}{END_OF_INPUT}").as_bytes())?;
        let (mut greeting, mut tools) = (Greeting::default(), Tools::default());
        let greeted = dialogue.listen(GREET_LIMIT, &reach.stop, |words| {
            greeting.take(&format!("tardy {words}"));
            tools = Tools::parse(words).unwrap_or(std::mem::take(&mut tools));
            if SessionMessage::parse(words) == SessionMessage::Garbled {
                Some(false)
            } else {
                greeting.is_over().then_some(true)
            }
        })?;
        if greeted {
            dialogue.reader.keep();
            return Ok((dialogue, greeting, tools));
        }
    }
    Err(SerialError::Garbled)
}

/// Ends a session after its last message.
fn dismiss(dialogue: &Dialogue) {
    // A dead line ends it, too.
    let _ = dialogue.say("");
}

/// The text to type at a prompt: it receives the session's script, checks it, and runs it. If this session logged in, it
/// logs out afterwards.
fn typed(script: &str, shell: Shell, sudo: bool) -> String {
    let (length, sum) = (script.len(), sending::cksum(script.as_bytes()));
    let other = hex(&Sha256::digest(script.as_bytes()));
    let root = if sudo { "sudo -n " } else { "" };
    let leave = if shell.by_us { "; exit" } else { "" };
    // The echo of this text, perhaps repeated by the terminal and by a line-editing shell, must not look like its
    // output.
    format!(
        " t=$(stty -g 2>/dev/null); stty -echo 2>/dev/null; echo \"tardy lis\"\"tens\"; s=$(cat); \
         case \"${{#s}} $(printf %s \"$s\"|{{ cksum||sha256sum; }} 2>/dev/null)\" in \
         \"{length} \"|\"{length} {sum} {length}\"|\"{length} {other}  -\") \
         {root}sh -c \"$s\"; stty \"$t\" 2>/dev/null{leave};; \
         *) stty \"$t\" 2>/dev/null; for i in 1 2; do echo \"tardy#\"\"1 garbled\"; done;; esac\r"
    )
}

/// A script in characters that a terminal passes unchanged, one byte each.
fn plain(script: &str) -> String {
    let letter = |letter: char| if letter == '\n' || letter.is_ascii_graphic() || letter == ' ' { letter } else { '?' };
    script.trim_end().chars().map(letter).collect()
}

impl Line for SerialLine {
    fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    fn shell(&mut self, script: &str) -> io::Result<Box<dyn RunningCommand>> {
        Ok(Box::new(Program::new(Rc::clone(&self.talk), "/bin/sh", vec!["-c".into(), script.into()])))
    }

    fn meter(&mut self, meter: &str, words: &[&str]) -> io::Result<Box<dyn RunningCommand>> {
        self.talk.borrow_mut().meter = meter.into();
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Ok(Box::new(Program::new(Rc::clone(&self.talk), &format!("./{meter}"), words)))
    }

    fn stream(&mut self, meter: &str, from: u64) -> io::Result<Box<dyn RunningCommand>> {
        self.talk.borrow_mut().meter = meter.into();
        Ok(Box::new(Stream::new(Rc::clone(&self.talk), from)))
    }

    fn send_meter(&mut self, meter: &MeterCopy, alone: bool) -> Result<(), SendError> {
        let mut talk = self.talk.borrow_mut();
        let session = talk.session()?;
        if alone {
            session.say("forget").map_err(SerialError::from)?;
        }
        let manner = Manner { baud: self.baud, stop: &self.stop, report: &self.report };
        Ok(sending::send(session, (&meter.name, &meter.bytes), &self.tools, &manner)?)
    }

    fn fetched(&mut self) {
        // If the session is gone, the results stay there; the next run reports that.
        if let Ok(session) = self.talk.borrow_mut().session() {
            let _ = session.say("fetched");
        }
    }

    fn end(self: Box<Self>) {
        let mut talk = self.talk.borrow_mut();
        let tidied = |words: &str| (SessionMessage::parse(words) == SessionMessage::Tidied).then_some(());
        let mut listens = talk.session().is_ok();
        loop {
            if listens {
                let _ = talk.exchange.dialogue.say("end");
            }
            // A run that was stopped still cleans up the board.
            let tidied_up = talk.exchange.dialogue.listen(TIDY_LIMIT, &StopRequests::default(), tidied);
            // A session whose meter was interrupted takes over, or was too busy to answer and still listens.
            if tidied_up.is_ok() || listens {
                break;
            }
            listens = true;
        }
        dismiss(&talk.exchange.dialogue);
        talk.listener = Listener::Nobody { why: SerialError::GivenBack };
    }

    /// Sends nothing more; the meter there notices, or the next host interrupts it.
    fn abandon(self: Box<Self>) {
        self.talk.borrow_mut().listener = Listener::Nobody { why: SerialError::GivenUp };
    }
}

#[cfg(test)]
mod tests;
