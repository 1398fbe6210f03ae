//! Loads the modules of the initial file system. Their names determine the order: dependencies come first.

use super::error::GuestError;
use crate::compact;
use protocol::guest::MODULES_DIRECTORY;
use rustix::io::Errno;
use std::ffi::CString;
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
    let command_line = fs::read_to_string("/proc/cmdline").unwrap_or_default();
    modules.iter().try_for_each(|module| load(module, &command_line))
}

fn load(module: &Path, command_line: &str) -> Result<(), GuestError> {
    let named = |error| GuestError::LoadModule { module: module.to_owned(), error };
    let file = File::open(module).map_err(named)?;
    let parameters = CString::new(parameters(module, command_line)).unwrap_or_default();
    match rustix::system::finit_module(&file, &parameters, 0) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(named(error.into())),
    }
}

/// The parameters of a module on the kernel's command line, `NAME.PARAMETER=VALUE` as modprobe reads them, without the name. The
/// file is called `NUMBER-NAME.ko`.
fn parameters(module: &Path, command_line: &str) -> String {
    let file = module.file_stem().unwrap_or_default().to_string_lossy();
    let name = file.split_once('-').map_or(&*file, |(_, name)| name).replace('-', "_");
    let mut found = String::new();
    for word in command_line.split_ascii_whitespace() {
        let Some((of, parameter)) = word.split_once('.') else { continue };
        if of.replace('-', "_") == name {
            found.push_str(parameter);
            found.push(' ');
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_gets_its_own_parameters_of_the_command_line() {
        let line = "console=ttyS0 null_blk.irqmode=2 null-blk.completion_nsec=5000000 null_blk=1 loop.max_loop=1.5\n";
        assert_eq!(parameters(Path::new("/modules/003-null_blk.ko"), line), "irqmode=2 completion_nsec=5000000 ");
        assert_eq!(parameters(Path::new("/modules/004-dm-delay.ko"), line), "");
        assert_eq!(parameters(Path::new("/modules/005-loop.ko"), line), "max_loop=1.5 ");
    }
}
