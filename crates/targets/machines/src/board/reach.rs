//! Connects to a board over ssh or a serial line.

use super::board_file::{Board, Door};
use super::error::{BoardError, Holder};
use super::line::Line;
use super::session::{Greeting, Purpose, SessionRequest};
use super::traffic::ConsoleTraffic;
use super::{serial, ssh};
use crate::stop::StopRequests;
use std::cell::RefCell;
use std::rc::Rc;

/// Everything needed to connect to a board, repeatedly.
#[derive(Clone)]
pub struct Reach {
    /// The target's name.
    pub name: String,
    pub board: Board,
    pub who: String,
    pub token: String,
    pub purpose: Purpose,
    pub stop: StopRequests,
    /// Reports what takes long.
    pub report: fn(&str),
    pub traffic: Rc<RefCell<ConsoleTraffic>>,
}

impl Reach {
    /// Opens the connection and has the session examine the board.
    ///
    /// # Errors
    /// [`BoardError`].
    pub fn connect(&self) -> Result<Box<dyn Line>, BoardError> {
        match self.board.backend {
            Door::Ssh => Ok(Box::new(ssh::connect(self)?)),
            Door::Serial => Ok(Box::new(serial::connect(self)?)),
        }
    }

    /// The request to the session.
    pub fn request(&self) -> SessionRequest {
        SessionRequest {
            purpose: self.purpose.clone(),
            directory: self.board.directory.clone(),
            who: self.who.clone(),
            token: self.token.clone(),
            keep_meter: self.board.keep_meter,
        }
    }

    /// Whether the board may be used after this greeting.
    ///
    /// # Errors
    /// What prevents it.
    pub fn admitted(&self, greeting: &Greeting) -> Result<(), BoardError> {
        if let Some(who) = &greeting.held {
            return Err(BoardError::Held(Holder::Session(who.clone())));
        }
        if let Some(run) = &greeting.measuring {
            return Err(BoardError::Held(Holder::Run { run: run.clone() }));
        }
        if let Some(run) = &greeting.left {
            return Err(BoardError::ResultsLeft { run: run.clone(), target: self.name.clone() });
        }
        if greeting.gone {
            return Err(BoardError::NothingKept);
        }
        greeting.refused.clone().map_or(Ok(()), |why| Err(BoardError::Refused(why)))
    }
}
