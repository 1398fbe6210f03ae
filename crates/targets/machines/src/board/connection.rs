//! Connects to a board over ssh or a serial line.

use super::board_file::Door;
use super::error::BoardError;
use super::line::Line;
use super::reach::Reach;
use super::{serial, ssh};

/// Opens the connection and has the session examine the board.
///
/// # Errors
/// [`BoardError`].
pub fn connect(reach: &Reach) -> Result<Box<dyn Line>, BoardError> {
    match reach.board.backend {
        Door::Ssh => Ok(Box::new(ssh::connect(reach)?)),
        Door::Serial => Ok(Box::new(serial::connect(reach)?)),
    }
}
