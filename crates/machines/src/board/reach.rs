//! Reaching a board, through whichever door it has.

use super::board_file::{Board, Door};
use super::keeper::{Errand, Greeting, Purpose};
use super::line::Line;
use super::overheard::Overheard;
use super::{serial, ssh};
use crate::stop::StopRequests;
use std::cell::RefCell;
use std::rc::Rc;

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
    /// Says what takes its time.
    pub tell: fn(&str),
    pub overheard: Rc<RefCell<Overheard>>,
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

impl Reach {
    /// Opens the connection and has the keeper look around.
    ///
    /// # Errors
    /// A sentence.
    pub fn connect(&self) -> Result<Box<dyn Line>, Hindrance> {
        match self.board.backend {
            Door::Ssh => Ok(Box::new(ssh::connect(self)?)),
            Door::Serial => Ok(Box::new(serial::connect(self)?)),
        }
    }

    /// What the keeper is to do there.
    pub fn errand(&self) -> Errand {
        Errand {
            purpose: self.purpose.clone(),
            directory: self.board.directory.clone(),
            who: self.who.clone(),
            token: self.token.clone(),
            keep_meter: self.board.keep_meter,
        }
    }

    /// Whether the board is ours after this greeting.
    ///
    /// # Errors
    /// What is in the way.
    pub fn admitted(&self, greeting: &Greeting) -> Result<(), Hindrance> {
        if let Some(who) = &greeting.held {
            return Err(Hindrance::Held(who.clone()));
        }
        if let Some(run) = &greeting.measuring {
            return Err(Hindrance::Held(format!(
                "run {run} goes on there without its host, which fetches it with `tardy collect`"
            )));
        }
        if let Some(run) = &greeting.left {
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
        greeting.refused.clone().map_or(Ok(()), |why| Err(Hindrance::Other(why)))
    }
}
