//! Secrets: read from a file or the environment when they are needed, and in no message, log or debug output.

use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::{fmt, io};
use thiserror::Error;

const BYTES_MAX: u64 = 64 << 10;

/// Where a secret is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum SecretPlace {
    /// The first line of a file.
    File(PathBuf),
    /// An environment variable.
    Env(String),
}

/// A secret. Its debug output does not contain it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn shown(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret")
    }
}

/// Why a secret cannot be used.
#[derive(Debug, Error)]
pub enum SecretError {
    #[error("failed to read the secret in {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is too long for a secret", .0.display())]
    TooLong(PathBuf),
    #[error("the environment variable {0} has no secret")]
    NoVariable(String),
    #[error("{0} has no secret in its first line")]
    Empty(SecretPlace),
}

impl SecretPlace {
    /// Reads it. `folder` is that of the settings: a relative path starts there.
    ///
    /// # Errors
    /// If it is not there or empty.
    pub fn read(&self, folder: &Path) -> Result<Secret, SecretError> {
        let text = match self {
            Self::File(file) => {
                let path = folder.join(file);
                let failed = |source| SecretError::Read { path: path.clone(), source };
                let length = std::fs::metadata(&path).map_err(failed)?.len();
                if length > BYTES_MAX {
                    return Err(SecretError::TooLong(path));
                }
                std::fs::read_to_string(&path).map_err(failed)?
            }
            Self::Env(name) => std::env::var(name).map_err(|_| SecretError::NoVariable(name.clone()))?,
        };
        let line = text.lines().next().unwrap_or_default().trim();
        if line.is_empty() || line.chars().any(char::is_control) {
            return Err(SecretError::Empty(self.clone()));
        }
        Ok(Secret(line.to_owned()))
    }
}

impl fmt::Display for SecretPlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(out, "{}", path.display()),
            Self::Env(name) => write!(out, "the environment variable {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_the_first_line_of_its_file_and_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("token"), " s3cret \nrest\n").unwrap();
        let secret = SecretPlace::File("token".into()).read(folder.path()).unwrap();
        assert_eq!((secret.shown(), format!("{secret:?}")), ("s3cret", "Secret".to_owned()));
        std::fs::write(folder.path().join("token"), "\ns3cret").unwrap();
        let read = |name: &str| SecretPlace::File(name.into()).read(folder.path());
        assert!(matches!(read("token"), Err(SecretError::Empty(SecretPlace::File(_)))), "{:?}", read("token"));
        assert!(matches!(read("none"), Err(SecretError::Read { path, .. }) if path.ends_with("none")));
        assert!(SecretPlace::Env("TARDY_NO_SUCH_SECRET".into()).read(folder.path()).is_err());
    }
}
