//! Secrets: read from a file or the environment when they are needed, and in no message, log or debug output.

use serde::Deserialize;
use std::fmt;
use std::path::{Path, PathBuf};

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

impl SecretPlace {
    /// Reads it. `folder` is that of the settings: a relative path starts there.
    ///
    /// # Errors
    /// In words, if it is not there or empty.
    pub fn read(&self, folder: &Path) -> Result<Secret, String> {
        let text = match self {
            Self::File(file) => {
                let path = folder.join(file);
                let failed =
                    |error: std::io::Error| format!("failed to read the secret in {}: {error}", path.display());
                let length = std::fs::metadata(&path).map_err(failed)?.len();
                if length > BYTES_MAX {
                    return Err(format!("{} is too long for a secret", path.display()));
                }
                std::fs::read_to_string(&path).map_err(failed)?
            }
            Self::Env(name) => {
                std::env::var(name).map_err(|_| format!("the environment variable {name} has no secret"))?
            }
        };
        let line = text.lines().next().unwrap_or_default().trim();
        if line.is_empty() || line.chars().any(char::is_control) {
            return Err(format!("{self} has no secret in its first line"));
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
        let error = SecretPlace::File("token".into()).read(folder.path()).unwrap_err();
        assert!(!error.contains("s3cret"), "{error}");
        assert!(SecretPlace::File("none".into()).read(folder.path()).unwrap_err().contains("none"));
        assert!(SecretPlace::Env("TARDY_NO_SUCH_SECRET".into()).read(folder.path()).is_err());
    }
}
