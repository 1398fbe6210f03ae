//! Reaching a board: one connection of ssh's, with the keeper as its first session.

use super::file::Board;
use super::keeper::{Errand, Greeting, Purpose};
use super::openssh::{Share, command, diagnosis};
use super::shell::quoted;
use crate::stop::StopRequests;
use crate::target::local::LocalTarget;
use crate::target::scratch::Scratch;
use crate::target::{Command, Output, RunningCommand, Target, TargetError};
use std::path::PathBuf;
use std::time::Duration;

/// From the start of ssh until the board's shell has answered.
const CONNECT_LIMIT: Duration = Duration::from_secs(40);
const TIDY_LIMIT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(100);
const UNREAD_BYTES_MAX: usize = 64 << 10;

/// How a board is reached, as often as it takes.
#[derive(Clone)]
pub struct Reach {
    /// The target's name.
    pub name: String,
    pub board: Board,
    pub who: String,
    pub token: String,
    pub purpose: Purpose,
    pub stop: StopRequests,
}

/// Why a board was not reached.
#[derive(Debug, PartialEq, Eq)]
pub enum Hindrance {
    /// Somebody uses it, who may be done later.
    Held(String),
    /// There are results of another run, which nobody has fetched.
    Left(String),
    /// What was to be fetched is not there.
    Gone(String),
    Other(String),
}

/// A connection that is up, as far as one knows.
pub struct Line {
    keeper: Box<dyn RunningCommand>,
    pub greeting: Greeting,
    scratch: Scratch,
}

impl Reach {
    /// Opens the connection and has the keeper look around.
    ///
    /// # Errors
    /// A sentence.
    pub fn connect(&self) -> Result<Line, Hindrance> {
        let scratch =
            Scratch::make("ssh").map_err(|error| Hindrance::Other(format!("no directory for a socket: {error}")))?;
        let (keeper, greeting) = self.greet(&scratch).map_err(Hindrance::Other)?;
        if let Some(who) = greeting.held {
            return Err(Hindrance::Held(who));
        }
        if let Some(run) = greeting.measuring {
            return Err(Hindrance::Held(format!(
                "run {run} goes on there without its host, which fetches it with `tardy collect`"
            )));
        }
        if let Some(run) = greeting.left {
            return Err(Hindrance::Left(format!(
                "it has the results of run {run}, which nobody has fetched: `tardy collect` with that archive does, \
                 `tardy restore --target {} --discard` throws them away",
                self.name
            )));
        }
        if greeting.gone {
            return Err(Hindrance::Gone(
                "it keeps nothing of this run: the results were fetched before, were thrown away, or went with a reboot; \
                 what came before the line was lost is in the archive"
                    .into(),
            ));
        }
        if let Some(why) = greeting.refused {
            return Err(Hindrance::Other(why));
        }
        Ok(Line { keeper, greeting, scratch })
    }

    fn greet(&self, scratch: &Scratch) -> Result<(Box<dyn RunningCommand>, Greeting), String> {
        let errand = Errand {
            purpose: self.purpose.clone(),
            directory: self.board.directory.clone(),
            who: self.who.clone(),
            token: self.token.clone(),
            keep_meter: self.board.keep_meter,
        };
        let master = command(&self.board, &control(scratch), Share::Master, &errand.script());
        let mut keeper = LocalTarget.start(&master).map_err(no_ssh)?;
        let mut greeting = Greeting::default();
        let mut unread = Vec::new();
        while !greeting.is_over() {
            match keeper.read(POLL) {
                // A login that talks without end says nothing of ours.
                Output::Bytes(bytes) if unread.len() < UNREAD_BYTES_MAX => unread.extend(bytes),
                Output::Bytes(_) => unread.clear(),
                Output::Quiet if self.stop.count() > 0 => {
                    keeper.kill();
                    return Err("stopped on request".into());
                }
                Output::Quiet if keeper.elapsed() < CONNECT_LIMIT => {}
                Output::Quiet => {
                    keeper.kill();
                    let limit = CONNECT_LIMIT.as_secs();
                    return Err(format!(
                        "its shell did not answer within {limit} s; does `ssh {}` work?",
                        self.board.address
                    ));
                }
                Output::Closed => {
                    keeper.wait(POLL * 10);
                    return Err(diagnosis(&self.board, &keeper.diagnostics()));
                }
            }
            while let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = unread.drain(..=end).collect();
                greeting.take(&String::from_utf8_lossy(&line));
            }
        }
        Ok((keeper, greeting))
    }
}

fn control(scratch: &Scratch) -> PathBuf {
    scratch.0.join("line")
}

fn no_ssh(error: TargetError) -> String {
    format!("{error}; on Debian ssh comes with `apt-get install openssh-client`")
}

impl Line {
    /// The command that has the board's shell run a script, through this connection.
    pub fn shell(&self, board: &Board, script: &str) -> Command {
        command(board, &control(&self.scratch), Share::Guest, script)
    }

    /// The same for the meter of this name, with these words.
    pub fn meter(&self, board: &Board, meter: &str, words: &[&str]) -> Command {
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let place = quoted(&self.greeting.place);
        let script = format!("cd {place} && TARDY_STATE_DIR={place} exec ./{meter} {}", words.join(" "));
        self.shell(board, &script)
    }

    /// Tells the keeper that what the board keeps can go.
    pub fn fetched(&mut self) {
        // A keeper that is gone leaves it there, which the next run tells.
        let _ = self.keeper.write(b"fetched\n");
    }

    /// Has the keeper tidy up, and closes the connection.
    pub fn end(mut self) {
        // A keeper that is gone has tidied up, or cannot be told.
        let _ = self.keeper.write(b"end\n");
        if self.keeper.wait(TIDY_LIMIT).is_none() {
            self.keeper.kill();
        }
    }

    /// Drops a connection that is dead or of no use.
    pub fn abandon(mut self) {
        self.keeper.kill();
        self.keeper.wait(POLL);
    }
}
