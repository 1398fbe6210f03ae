//! Why a place of a lab cannot be used, and the meaning of `labgrid-client`'s errors.

use super::place_file::PlaceFileError;
use crate::TargetError;
use crate::board::error::{BoardError, LockError};
use std::time::Duration;
use thiserror::Error;

/// The meaning of an error of `labgrid-client`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// This user has the place, on this host.
    AcquiredBefore,
    /// Another user has acquired or reserved it; in the words of the client.
    Held(String),
    NoClient,
    NoCoordinator,
    UnknownPlace,
    SeveralPlaces(String),
    NoResource(String),
    /// The place has no power switch.
    NoPowerSwitch(String),
    Other(String),
}

impl Refusal {
    /// Parses the output of `labgrid-client`, or of the shell that did not find it.
    pub fn parse(said: &str) -> Self {
        // Warnings of its libraries may precede it.
        let said = said.rsplit_once("Error: ").map_or(said, |(_, said)| said).trim();
        let has = |sign: &str| said.contains(sign);
        let short = || said.split(" To work simultaneously").next().unwrap_or(said).trim_end_matches('.').to_owned();
        let words = || said.to_owned();
        if has("You have already acquired") && !has(" on ") {
            Self::AcquiredBefore
        } else if has("already acquired") || has("was not reserved for") {
            Self::Held(short())
        } else if has("not found") {
            Self::NoClient
        } else if has("Could not connect to coordinator") {
            Self::NoCoordinator
        } else if has("matches nothing") {
            Self::UnknownPlace
        } else if has("matches multiple places") {
            Self::SeveralPlaces(words())
        } else if has("has no matching remote resource") {
            Self::NoResource(words())
        } else if has("no compatible resource") {
            Self::NoPowerSwitch(words())
        } else {
            Self::Other(words())
        }
    }
}

/// Why `labgrid-client` gave no useful answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ClientError {
    #[error("{0}")]
    NotStarted(String),
    #[error("`{command}` did not end within {} s", limit.as_secs())]
    TooLong { command: String, limit: Duration },
    #[error("{words}")]
    Refused { refusal: Refusal, words: String },
}

/// Why a place cannot be used.
#[derive(Debug, Error)]
pub enum LabgridError {
    #[error("stopped on request")]
    Stopped,
    /// The target file is wrong, or leaves open how to reach the board.
    #[error(transparent)]
    File(#[from] PlaceFileError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error("{by}; --wait waits for it")]
    Held { by: String },
    #[error("`{command}` did not answer within {seconds} s")]
    NoAnswer { command: String, seconds: u64 },
    #[error(
        "labgrid-client is not there: `pip install labgrid` in an environment whose programs are in PATH, or name it with \
         `client` in the target file"
    )]
    NoClient,
    #[error("no coordinator answers at {coordinator}; name it with --coordinator or LG_COORDINATOR")]
    NoCoordinator { coordinator: String },
    #[error("the coordinator knows no place {place}; `labgrid-client places` lists them")]
    UnknownPlace { place: String },
    #[error("{said}; write the whole name of one")]
    SeveralPlaces { said: String },
    #[error("{said}; does its exporter run?")]
    NoResource { said: String },
    #[error("labgrid-client says: {said}")]
    Refused { said: String },
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(
        "its power could not be switched: {said}; the place has no power switch: add one to it, or write \
         `power = \"leave\"` in the target file"
    )]
    NoPowerSwitch { said: String },
    #[error("its power could not be switched: {0}")]
    Power(ClientError),
    #[error("{0}")]
    Board(Box<BoardError>),
    #[error(transparent)]
    Target(Box<TargetError>),
    #[error(
        "it had not booted after {} s: {last}; `boot_seconds` in the target file gives it longer", limit.as_secs()
    )]
    NotBooted { limit: Duration, last: Box<LabgridError> },
    #[error("the place is still acquired: {why}; release it with `{by_hand}`")]
    StillAcquired { why: String, by_hand: String },
    #[error("the board is still switched on: {why}")]
    StillOn { why: String },
    /// It could not be released either.
    #[error("{first}; and {left}")]
    NorGivenBack { first: Box<LabgridError>, left: Box<LabgridError> },
}

impl LabgridError {
    /// What went wrong with the board, without the name of the target, which is reported once.
    pub fn of_board(error: TargetError) -> Self {
        match error {
            TargetError::Prepare { why: crate::Reason::Board(error), .. } => Self::Board(error),
            other => Self::Target(Box::new(other)),
        }
    }
}
