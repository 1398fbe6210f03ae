//! Starts the user's programs of the initial file system. They run until the machine is powered off.

use super::error::GuestError;
use protocol::guest::{GuestProgram, PROGRAMS_DIRECTORY, PROGRAMS_LIST};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::{Command, Stdio};

/// Starts every program of the list; their output goes to the console.
///
/// # Errors
/// [`GuestError`] with the program's path.
pub fn start_all() -> Result<(), GuestError> {
    let directory = Path::new("/").join(PROGRAMS_DIRECTORY);
    let list = match fs::read(directory.join(PROGRAMS_LIST)) {
        Ok(list) => list,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(GuestError::ListPrograms(error)),
    };
    let list: Vec<GuestProgram> =
        serde_json::from_slice(&list).map_err(|error| GuestError::ListPrograms(io::Error::other(error)))?;
    for GuestProgram { file, arguments } in list {
        let program = directory.join(file);
        let started = Command::new(&program).args(arguments).stdin(Stdio::null()).spawn();
        started.map_err(|error| GuestError::StartProgram { program, error })?;
    }
    Ok(())
}
