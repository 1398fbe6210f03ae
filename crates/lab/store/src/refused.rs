//! Why an archive that was sent is not taken.

use archive::budget::Excess;
use archive::manifest::{Manifest, RunState};
use archive::packed::PackedError;
use archive::reader::ArchiveState;
use thiserror::Error;

/// Longest name of a board, in bytes.
const NAME_BYTES_MAX: usize = 255;

/// Why an archive that was sent is not taken.
#[derive(Debug, Error)]
pub enum Refused {
    #[error("{0:?} is not the address of an archive; that is a SHA-256, 64 digits from 0-9 and a-f")]
    Address(String),
    #[error("failed to read it: {0}")]
    Stream(PackedError),
    #[error("{0:?} is not a recorded file of an archive; send the files that `tardy run` wrote")]
    NotRecorded(String),
    #[error("its address is {found}; it was changed or damaged on the way, or sent to the address of another archive")]
    OtherContents { found: String },
    #[error("it has no manifest.json that can be read")]
    Unreadable,
    #[error("its run has not ended, or its writer was killed; send it when it has ended")]
    GoesOn,
    #[error(
        "its target {0:?} cannot name a board; rename the target: no `/`, no `-` at the front, and neither `.` nor `..`"
    )]
    BoardName(String),
    #[error("{name:?} makes it hold {excess}, and a run with its settings cannot record that")]
    MoreThanItsRun { name: String, excess: Excess },
    #[error("its raw traces were removed, so its digest differs; push it from the host that has the raw traces")]
    Pruned,
}

impl From<PackedError> for Refused {
    fn from(error: PackedError) -> Self {
        Self::Stream(error)
    }
}

/// Checks that a run has a manifest, and has ended.
pub fn check_finished(archive: &ArchiveState) -> Result<(), Refused> {
    match &archive.manifest {
        None => Err(Refused::Unreadable),
        Some(Manifest { state: RunState::Running, .. }) => Err(Refused::GoesOn),
        Some(manifest) if !can_name_a_board(&manifest.target) => Err(Refused::BoardName(manifest.target.clone())),
        Some(_) => Ok(()),
    }
}

/// Whether a name can stand in the address of a page. An empty one stands for the machine itself.
fn can_name_a_board(name: &str) -> bool {
    let leads_elsewhere = matches!(name, "." | "..") || name.contains('/') || name.starts_with('-');
    !leads_elsewhere && name.len() <= NAME_BYTES_MAX && !name.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_boards_stand_in_an_address() {
        assert!(["", "pi", "pi 4, rack 2", "größe", "a?b#c%2f"].iter().all(|name| can_name_a_board(name)));
        let bad = [".", "..", "../../../etc/x", "a/b", "-rf", "a\u{1b}[2J", &"a".repeat(300)];
        assert!(!bad.iter().any(|name| can_name_a_board(name)));
    }
}
