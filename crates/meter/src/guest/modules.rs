//! Loads the modules of the initial file system. Their names give the order: what another one needs comes first.

use protocol::guest::MODULES_DIRECTORY;
use rustix::io::Errno;
use std::ffi::CStr;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Loads every module that came with this machine.
///
/// # Errors
/// A sentence that names the module.
pub fn load_all() -> Result<(), String> {
    let directory = Path::new("/").join(MODULES_DIRECTORY);
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(format!("failed to list the modules: {error}")),
    };
    let mut modules: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    modules.sort();
    modules.iter().try_for_each(|module| load(module))
}

fn load(module: &Path) -> Result<(), String> {
    let named = |error: String| format!("failed to load {}: {error}", module.display());
    let file = File::open(module).map_err(|error| named(error.to_string()))?;
    match rustix::system::finit_module(&file, c"" as &CStr, 0) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(named(error.to_string())),
    }
}
