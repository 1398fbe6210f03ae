//! Data for connecting to a board, and the answer to its greeting.

use super::board_file::Board;
use super::error::{BoardError, Holder};
use super::session::{Greeting, Purpose, SessionRequest};
use super::traffic::ConsoleTraffic;
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
    /// The obstacle: another session, results left there, or a refusal.
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
