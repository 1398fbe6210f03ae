//! Finds the flight recorder, the QEMU plugin that records virtual time.

use crate::library::{Library, LibraryError};
use std::env;
use std::path::PathBuf;

/// File name of the recorder.
pub const RECORDER_NAME: &str = "libflight_recorder.so";
/// Environment variable with the path of a recorder.
pub const RECORDER_VARIABLE: &str = "TARDY_FLIGHT_RECORDER";
/// Its name in earlier versions.
const FORMER_VARIABLE: &str = "TARDY_RECORDER";

/// The absolute path of the recorder for this process.
///
/// # Errors
/// [`LibraryError`], which states what to do.
pub fn find() -> Result<PathBuf, LibraryError> {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let former = !is_set(RECORDER_VARIABLE) && is_set(FORMER_VARIABLE);
    let variable = if former { FORMER_VARIABLE } else { RECORDER_VARIABLE };
    Library { file_name: RECORDER_NAME, variable }.find()
}
