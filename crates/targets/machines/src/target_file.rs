//! Target files: their directories, and the kinds of targets they describe.

use super::board::board_file::{Board, BoardFileError};
use super::labgrid::place_file::{LabgridPlace, PlaceFileError};
use super::qemu::machine_file::{MachineFileError, VirtualMachine};
use super::target_syntax::{SyntaxError, read_checked};
use archive::nearest::nearest_or;
use serde::Deserialize;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// No file describes the target.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "failed to find target {name}: there is no {}; {}",
    wanted.display(),
    nearest_or(name, known.iter().map(String::as_str), &format!("`tardy target add {name} --ssh USER@HOST` adds it"))
)]
pub struct MissingTarget {
    pub name: String,
    pub wanted: PathBuf,
    /// Names of the targets that exist.
    pub known: Vec<String>,
}

/// Why a target is not available.
#[derive(Debug, Error)]
pub enum TargetFileError {
    #[error(transparent)]
    Missing(#[from] MissingTarget),
    #[error("failed to read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("failed to understand {}: {source}", path.display())]
    Invalid { path: PathBuf, source: DescriptionError },
    #[error("failed to use target {name} here: it is {kind}, and this is for virtual machines")]
    NoMachine { name: String, kind: &'static str },
    #[error("failed to write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("failed to name a target {0:?}: use letters, digits, - and _, and not `local`, which is this machine")]
    Name(String),
}

/// Why the text of a target file describes no target.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DescriptionError {
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    #[error("`{backend}` is not a backend; there are \"ssh\", \"serial\", \"labgrid\", \"qemu\" and \"virtual\"")]
    Backend { backend: String },
    #[error(transparent)]
    Board(#[from] BoardFileError),
    #[error(transparent)]
    Place(#[from] PlaceFileError),
    #[error(transparent)]
    Machine(#[from] MachineFileError),
}

/// The content of a target file.
#[derive(Debug, Clone, PartialEq)]
pub enum Description {
    Machine(Box<VirtualMachine>),
    Board(Box<Board>),
    Labgrid(Box<LabgridPlace>),
}

/// The one key that every target file has.
#[derive(Deserialize)]
struct Kind {
    backend: String,
}

impl Description {
    /// Parses the text of a target file.
    ///
    /// # Errors
    /// [`DescriptionError`].
    pub fn parse(text: &str) -> Result<Self, DescriptionError> {
        let kind: Kind = read_checked(text, |_| Ok::<(), SyntaxError>(()))?;
        Ok(match kind.backend.as_str() {
            "ssh" | "serial" => Self::Board(Box::new(Board::parse(text)?)),
            "labgrid" => Self::Labgrid(Box::new(LabgridPlace::parse(text)?)),
            "qemu" | "virtual" => Self::Machine(Box::new(VirtualMachine::parse(text)?)),
            other => return Err(DescriptionError::Backend { backend: other.into() }),
        })
    }

    /// The text of a target file.
    pub fn to_text(&self) -> String {
        match self {
            Self::Machine(machine) => machine.to_text(),
            Self::Board(board) => board.to_text(),
            Self::Labgrid(place) => place.to_text(),
        }
    }
}

/// The directories with target files, the one of the current directory first.
#[derive(Debug, Clone)]
pub struct TargetFiles {
    /// `targets` of the current directory.
    pub here: PathBuf,
    /// The directory of the user; `None` without a home directory.
    pub own: Option<PathBuf>,
}

impl TargetFiles {
    /// The directories of this process.
    pub fn of_process() -> Self {
        let configuration = std::env::var_os("XDG_CONFIG_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = || {
            std::env::var_os("HOME").filter(|value| !value.is_empty()).map(|home| PathBuf::from(home).join(".config"))
        };
        Self { here: "targets".into(), own: configuration.or_else(home).map(|path| path.join("tardy/targets")) }
    }

    /// The nearest file of a target.
    ///
    /// # Errors
    /// [`TargetFileError::Missing`] and [`TargetFileError::Name`].
    pub fn find(&self, name: &str) -> Result<PathBuf, TargetFileError> {
        let file = file_name(name)?;
        let places = [Some(self.here.join(&file)), self.own.as_ref().map(|own| own.join(&file))];
        let found = places.into_iter().flatten().find(|path| path.is_file());
        found.ok_or_else(|| {
            MissingTarget {
                name: name.into(),
                wanted: self.home(false).join(file),
                known: self.list().into_iter().map(|(name, _)| name).collect(),
            }
            .into()
        })
    }

    /// Reads a target of any kind.
    ///
    /// # Errors
    /// [`TargetFileError`].
    pub fn describe(&self, name: &str) -> Result<Description, TargetFileError> {
        let path = self.find(name)?;
        let text =
            fs::read_to_string(&path).map_err(|source| TargetFileError::Unreadable { path: path.clone(), source })?;
        Description::parse(&text).map_err(|source| TargetFileError::Invalid { path, source })
    }

    /// Writes a target, `here` or to the user's directory; returns its path.
    ///
    /// # Errors
    /// [`TargetFileError::Write`] and [`TargetFileError::Name`].
    pub fn write(&self, name: &str, target: &Description, here: bool) -> Result<PathBuf, TargetFileError> {
        let path = self.home(here).join(file_name(name)?);
        let fail = |source| TargetFileError::Write { path: path.clone(), source };
        fs::create_dir_all(self.home(here)).map_err(fail)?;
        // It may contain a password.
        let mut options = OpenOptions::new();
        let opened = options.write(true).create(true).truncate(true).mode(0o600).open(&path);
        opened.and_then(|mut file| file.write_all(target.to_text().as_bytes())).map_err(fail)?;
        Ok(path)
    }

    /// Names and files of all targets, sorted by name; a nearer file hides a farther one of the same name.
    pub fn list(&self) -> Vec<(String, PathBuf)> {
        let mut found = std::collections::BTreeMap::new();
        for directory in self.own.iter().chain([&self.here]) {
            let entries = fs::read_dir(directory).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
            for path in entries.filter(|path| path.extension().is_some_and(|ending| ending == "toml")) {
                if let Some(name) = path.file_stem().and_then(|stem| stem.to_str()) {
                    found.insert(name.to_owned(), path.clone());
                }
            }
        }
        found.into_iter().collect()
    }

    fn home(&self, here: bool) -> &Path {
        self.own.as_deref().filter(|_| !here).unwrap_or(&self.here)
    }
}

fn file_name(name: &str) -> Result<String, TargetFileError> {
    let sound = !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter));
    if !sound || name == super::local::NAME {
        return Err(TargetFileError::Name(name.into()));
    }
    Ok(format!("{name}.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(kernel: &str) -> Description {
        Description::Machine(Box::new(VirtualMachine::new(kernel)))
    }

    #[test]
    fn the_backend_decides_how_the_rest_is_read() {
        let board = Description::parse("backend = \"ssh\"\naddress = \"root@pi\"\n").unwrap();
        assert!(matches!(&board, Description::Board(board) if board.address == "root@pi"));
        assert_eq!(Description::parse(&board.to_text()).unwrap(), board);
        assert_eq!(Description::parse(&machine("/k").to_text()).unwrap(), machine("/k"));
        let wrong = |text: &str| Description::parse(text).unwrap_err();
        assert_eq!(wrong("backend = \"jtag\""), DescriptionError::Backend { backend: "jtag".into() });
        assert!(wrong("address = \"x\"").to_string().contains("backend"));
    }

    #[test]
    fn the_nearer_file_wins_and_names_lead_nowhere_else() {
        let (here, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let files = TargetFiles { here: here.path().join("targets"), own: Some(own.path().join("targets")) };
        let wanted = own.path().join("targets/vm.toml");
        let missing = files.describe("vm").unwrap_err();
        assert!(matches!(missing, TargetFileError::Missing(missing) if missing.wanted == wanted));
        files.write("vm", &machine("/far"), false).unwrap();
        assert_eq!(files.describe("vm").unwrap(), machine("/far"));
        files.write("vm", &machine("/near"), true).unwrap();
        assert_eq!(files.describe("vm").unwrap(), machine("/near"));
        assert_eq!(files.list(), [("vm".to_owned(), here.path().join("targets/vm.toml"))]);
        for name in ["", "local", "../vm", "a/b", "a b"] {
            assert!(matches!(files.find(name), Err(TargetFileError::Name(_))), "{name}");
        }
    }
}
