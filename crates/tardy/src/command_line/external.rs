//! Verbs of others: `tardy NAME` runs the program `tardy-NAME` on PATH if no verb has that name.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const PREFIX: &str = "tardy-";
/// Programs of tardy itself with such a name.
const OWN: [&str; 1] = ["meter"];
/// Variable in which such a program finds the path of tardy.
const TARDY: &str = "TARDY";

/// The program for a word in the place of a verb.
pub fn program(name: &str) -> Option<PathBuf> {
    let is_name = !name.is_empty() && !name.contains('/') && !OWN.contains(&name);
    let mut paths = folders().into_iter().map(|folder| folder.join(format!("{PREFIX}{name}")));
    paths.find(|path| is_name && is_executable(path))
}

/// All such programs by name; of two with one name, the first on PATH.
pub fn all() -> BTreeMap<String, PathBuf> {
    programs(&folders())
}

/// Replaces this process. Returns only if that failed.
pub fn exec(program: &Path, arguments: &[OsString]) -> io::Error {
    let mut command = Command::new(program);
    if let Ok(this) = env::current_exe() {
        command.env(TARDY, this);
    }
    command.args(arguments).exec()
}

/// A relative entry of PATH would run programs of whatever directory this is.
fn folders() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).filter(|folder| folder.is_absolute()).collect()
}

fn programs(folders: &[PathBuf]) -> BTreeMap<String, PathBuf> {
    let mut programs = BTreeMap::new();
    for folder in folders.iter().rev() {
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else { continue };
            let path = entry.path();
            if !name.is_empty() && !OWN.contains(&name) && is_executable(&path) {
                programs.insert(name.to_owned(), path);
            }
        }
    }
    programs
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_first_executable_on_path_is_the_verb() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let paths: Vec<PathBuf> = folders.iter().map(|folder| folder.path().to_owned()).collect();
        for (folder, name, mode) in [
            (0, "tardy-plot", 0o755),
            (1, "tardy-plot", 0o755),
            (1, "tardy-mail", 0o700),
            (0, "tardy-readme", 0o644),
            (0, "tardy-meter", 0o755),
            (0, "tardy", 0o755),
        ] {
            let path = paths[folder].join(name);
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::create_dir(paths[0].join("tardy-folder")).unwrap();
        let found = programs(&paths);
        let expected = [("mail", paths[1].join("tardy-mail")), ("plot", paths[0].join("tardy-plot"))];
        assert_eq!(found, expected.map(|(name, path)| (name.to_owned(), path)).into());
    }
}
