//! Lets one user measure without a root shell, journalled, so that `restore --setup` reverts each change.
//!
//! Input: one line of JSON, a [`SetupRequest`]; output: one line, a [`SetupReport`]. If one change fails, those before it are
//! reverted.

mod group;
mod owned;
mod plan;
mod texts;

use crate::journal::setup::make;
use crate::journal::{Entry, Header, Journal, JournalError, UndoError, setup_directory};
use archive::choice::Choice;
use archive::setup::{GROUP, SetupChange, SetupReport, SetupRequest, SetupStep, StepReport, StepState};
use group::ForeignMembers;
use plan::Machine;
use rustix::process::geteuid;
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

const LINE_BYTES_MAX: u64 = 64 << 10;

/// Why a machine is not set up.
#[derive(Debug, Error)]
enum SetupError {
    #[error("failed to understand the request: {0}")]
    Request(String),
    #[error("{0:?} is not a user's name")]
    Name(String),
    #[error("root measures without a setup; name another user with --user")]
    ForRoot,
    #[error("a setup takes root: sudo tardy setup --apply")]
    NotRoot,
    #[error(transparent)]
    Members(#[from] ForeignMembers),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("failed to change {path}: {source}; {}", reverted(left))]
    Change { path: PathBuf, source: io::Error, left: Vec<UndoError> },
    #[error("failed to write the answer: {0}")]
    Answer(io::Error),
}

fn reverted(left: &[UndoError]) -> String {
    match left {
        [] => "the changes before it are reverted".into(),
        left => left.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
    }
}

/// Reads the line, plans or makes the changes, prints the result. Exit code: 0 done, 3 nothing was changed.
pub fn run() -> i32 {
    match read().and_then(|request| answer(&request)).and_then(|report| print(&report)) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("tardy-meter: {error}");
            3
        }
    }
}

fn read() -> Result<SetupRequest, SetupError> {
    let mut line = String::new();
    io::stdin()
        .lock()
        .take(LINE_BYTES_MAX)
        .read_line(&mut line)
        .map_err(|error| SetupError::Request(error.to_string()))?;
    serde_json::from_str(line.trim_end()).map_err(|error| SetupError::Request(error.to_string()))
}

fn answer(request: &SetupRequest) -> Result<SetupReport, SetupError> {
    if request.uid == 0 {
        return Err(SetupError::ForRoot);
    }
    if !is_name(&request.user) {
        return Err(SetupError::Name(request.user.clone()));
    }
    let machine = Machine::of(Path::new("/"), request)?;
    let steps = if request.apply { apply(&machine)? } else { all().map(|step| machine.planned(step)).collect() };
    Ok(SetupReport { user: request.user.clone(), group: GROUP.into(), steps })
}

/// Whether a name can be in a list of members.
fn is_name(user: &str) -> bool {
    !user.is_empty()
        && !user.chars().any(|letter| letter.is_whitespace() || letter.is_control() || ":,#".contains(letter))
}

fn all() -> impl Iterator<Item = SetupStep> {
    SetupStep::CHOICES.iter().map(|(step, ..)| *step)
}

/// Each step is planned after those before it are made: a mount option changes the group of files that a later step changes.
fn apply(machine: &Machine) -> Result<Vec<StepReport>, SetupError> {
    if !geteuid().is_root() {
        return Err(SetupError::NotRoot);
    }
    let mut journal = None;
    let mut steps = Vec::new();
    for step in all() {
        let planned = machine.planned(step);
        let state = match planned.state {
            StepState::Needed(changes) => {
                journal = Some(made(&changes, journal)?);
                StepState::Made(changes)
            }
            state => state,
        };
        steps.push(StepReport { step, state });
    }
    Ok(steps)
}

/// A change that fails reverts all of the journal.
fn made(changes: &[SetupChange], journal: Option<Journal>) -> Result<Journal, SetupError> {
    let begin = || Journal::begin(&setup_directory(), &Header::of_this_process());
    let mut journal = journal.map_or_else(begin, Ok)?;
    for change in changes {
        let made = journal.note(Entry::Setup(change.clone())).map_err(io::Error::other).and_then(|()| make(change));
        if let Err(source) = made {
            return Err(SetupError::Change { path: change.path().to_owned(), source, left: journal.undo() });
        }
    }
    Ok(journal)
}

fn print(report: &SetupReport) -> Result<(), SetupError> {
    let mut line = serde_json::to_string(report).expect("a report has only string keys");
    line.push('\n');
    io::stdout().write_all(line.as_bytes()).map_err(SetupError::Answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_adds_no_member_and_no_line() {
        for name in ["", "a,b", "a:b", "a\nroot:x:0:0::/:", "a b", "#a"] {
            let request = SetupRequest { user: name.into(), uid: 1000, stacks: false, apply: false };
            assert!(matches!(answer(&request), Err(SetupError::Name(_))), "{name:?}");
        }
    }

    #[test]
    fn root_is_not_set_up() {
        let request = SetupRequest { user: "root".into(), uid: 0, stacks: false, apply: false };
        assert!(matches!(answer(&request), Err(SetupError::ForRoot)));
    }
}
