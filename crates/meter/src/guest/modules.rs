//! Loads the modules of the initial file system. Their names determine the order: dependencies come first.

use super::error::GuestError;
use crate::compact;
use protocol::guest::MODULES_DIRECTORY;
use rustix::io::Errno;
use std::ffi::CStr;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Loads every module of the initial file system.
///
/// # Errors
/// [`GuestError`] with the module's name.
pub fn load_all() -> Result<(), GuestError> {
    let directory = Path::new("/").join(MODULES_DIRECTORY);
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(GuestError::ListModules(error)),
    };
    let mut modules: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    compact::sort_by(&mut modules, Ord::cmp);
    modules.iter().try_for_each(|module| load(module))
}

fn load(module: &Path) -> Result<(), GuestError> {
    let named = |error| GuestError::LoadModule { module: module.to_owned(), error };
    let file = File::open(module).map_err(named)?;
    match rustix::system::finit_module(&file, c"" as &CStr, 0) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(named(error.into())),
    }
}
