//! Why a place of a lab cannot be used, and the meaning of `labgrid-client`'s errors.

use super::place_file::PlaceFileError;
use crate::TargetError;
use crate::board::error::LockError;
use crate::target::Reason;
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
    pub fn parse(message: &str) -> Self {
        // Warnings of its libraries may precede it.
        let message = message.rsplit_once("Error: ").map_or(message, |(_, message)| message).trim();
        let has = |sign: &str| message.contains(sign);
        let short =
            || message.split(" To work simultaneously").next().unwrap_or(message).trim_end_matches('.').to_owned();
        let words = || message.to_owned();
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
        "labgrid-client is not installed: `pip install labgrid` in an environment whose programs are in PATH, or name it with \
         `client` in the target file"
    )]
    NoClient,
    #[error("no coordinator answers at {coordinator}; set --coordinator or LG_COORDINATOR")]
    NoCoordinator { coordinator: String },
    #[error("the coordinator knows no place {place}; `labgrid-client places` lists them")]
    UnknownPlace { place: String },
    #[error("{message}; write the full name of one")]
    SeveralPlaces { message: String },
    #[error("{message}; check that its exporter runs")]
    NoResource { message: String },
    #[error("labgrid-client failed: {message}")]
    Refused { message: String },
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(
        "failed to switch the power: {message}; the place has no power switch: add one to it, or write \
         `power = \"leave\"` in the target file"
    )]
    NoPowerSwitch { message: String },
    #[error("failed to switch the power: {0}")]
    Power(ClientError),
    #[error("{0}")]
    Board(Box<dyn Reason>),
    #[error(transparent)]
    Target(Box<TargetError>),
    #[error(
        "the board did not boot within {} s: {last}; `boot_seconds` in the target file sets the limit", limit.as_secs()
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
    /// An error of the board, without the name of the target, which is reported once.
    pub fn of_board(error: TargetError) -> Self {
        match error {
            TargetError::Prepare { why, .. } => Self::Board(why),
            other => Self::Target(Box::new(other)),
        }
    }
}

impl Reason for LabgridError {}
