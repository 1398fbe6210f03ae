//! Files that exist only because of a setup.

use archive::setup::{Hindrance, SetupChange};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The changes of a step, none if it is done; or why it cannot be made.
pub type Planned = Result<Vec<SetupChange>, Hindrance>;

/// A file with this text, which no other program may have written differently.
pub fn file(root: &Path, path: &str, text: &str) -> Planned {
    match fs::read(below(root, Path::new(path))) {
        Ok(found) if found == text.as_bytes() => Ok(Vec::new()),
        Ok(_) => Err(Hindrance::ForeignFile { path: path.into() }),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let mut changes = directories(root, Path::new(path));
            changes.push(SetupChange::File { path: path.into(), text: text.into() });
            Ok(changes)
        }
        Err(_) => Err(Hindrance::Hidden { path: path.into() }),
    }
}

/// The missing directories above a file, the uppermost first.
pub fn directories(root: &Path, path: &Path) -> Vec<SetupChange> {
    let missing = path.ancestors().skip(1).take_while(|above| !below(root, above).is_dir());
    let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    missing.reverse();
    missing.into_iter().map(|path| SetupChange::Directory { path }).collect()
}

/// An absolute path on the machine with this root.
pub fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}
