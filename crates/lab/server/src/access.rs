//! Who may do what: roles, and the tokens that grant them. A token is stored as its SHA-256 only.

use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use thiserror::Error;

/// Extension of the empty file that remembers the tokens beside it.
const MARK: &str = "required";
const PREFIX: &str = "tardy-";
const SECRET_BYTES: usize = 32;
const NAME_BYTES_MAX: usize = 64;
/// A file of tokens has one line for each; a larger file is not one.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Rights of a client; each role includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// See every page and every run.
    Read,
    /// Add runs, and request measurements.
    Run,
    /// Change what others see: triage, pins, retention.
    Admin,
}

impl Role {
    const ALL: [Self; 3] = [Self::Read, Self::Run, Self::Admin];

    fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Run => "run",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Role {
    type Err = AccessError;

    fn from_str(text: &str) -> Result<Self, AccessError> {
        Self::ALL.into_iter().find(|role| role.name() == text).ok_or_else(|| AccessError::Role(text.to_owned()))
    }
}

#[derive(Debug, Error)]
pub enum AccessError {
    #[error("there is no role {0:?}; use read, run or admin")]
    Role(String),
    #[error("{0:?} cannot name a token; use up to {NAME_BYTES_MAX} letters, digits, dots, dashes and underscores")]
    Name(String),
    #[error(
        "failed to read tokens: line {line} of {path} is not `ROLE NAME SHA256`; `tardy lab serve --add-token` writes such lines"
    )]
    Line { path: PathBuf, line: usize },
    #[error("failed to read the tokens in {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("failed to write the tokens to {path}: {source}")]
    Write { path: PathBuf, source: std::io::Error },
    #[error("{0} has a token of that name; remove its line to replace it")]
    Taken(PathBuf),
    #[error("failed to read the tokens in {0}: no such file; `tardy lab serve --add-token admin:NAME` makes it")]
    Missing(PathBuf),
    #[error(
        "failed to read the tokens in {0}: it has none; `tardy lab serve --add-token admin:NAME` adds one, or remove the file"
    )]
    Empty(PathBuf),
    #[error(
        "failed to read the tokens in {tokens}: the file was there before and is gone; put it back, or remove {mark} to serve \
         without login"
    )]
    Lost { tokens: PathBuf, mark: PathBuf },
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    role: Role,
    name: String,
    sha256: [u8; 32],
}

/// Who presented a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub role: Role,
    pub name: String,
}

/// The tokens of a server. Without any, every client may do everything; it then listens on loopback only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tokens(Vec<Entry>);

impl Tokens {
    /// Reads the file of tokens that a user named.
    ///
    /// # Errors
    /// As [`Self::read`], and if there is no file: a name typed wrong must not open the door.
    pub fn read_named(path: &Path) -> Result<Self, AccessError> {
        if path.exists() { Self::read(path) } else { Err(AccessError::Missing(path.to_owned())) }
    }

    /// Reads the file of tokens that a directory may have. A mark beside it remembers that there was one.
    ///
    /// # Errors
    /// As [`Self::read`], and if the file is gone.
    pub fn read_beside_mark(path: &Path) -> Result<Self, AccessError> {
        let mark = path.with_extension(MARK);
        if !path.exists() && mark.exists() {
            return Err(AccessError::Lost { tokens: path.to_owned(), mark });
        }
        let tokens = Self::read(path)?;
        if !tokens.is_empty() && !mark.exists() {
            File::create(&mark).map_err(|source| AccessError::Write { path: mark, source })?;
        }
        Ok(tokens)
    }

    /// Reads a file of tokens; a file that does not exist has none.
    ///
    /// # Errors
    /// If the file cannot be read, has no token, or a line is no token: ignoring it could lock out its holder unnoticed.
    pub fn read(path: &Path) -> Result<Self, AccessError> {
        let tokens = Self::read_any(path)?;
        if tokens.is_empty() && path.exists() { Err(AccessError::Empty(path.to_owned())) } else { Ok(tokens) }
    }

    fn read_any(path: &Path) -> Result<Self, AccessError> {
        let failed = |source| AccessError::Read { path: path.to_owned(), source };
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(failed(error)),
        };
        let mut text = String::new();
        file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
        let mut entries = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            entries.push(entry(line).ok_or(AccessError::Line { path: path.to_owned(), line: number + 1 })?);
        }
        Ok(Self(entries))
    }

    /// Creates a token, adds its hash to the file, and returns it: it is nowhere else.
    ///
    /// # Errors
    /// If the name is unusable or taken, or the file cannot be written.
    pub fn add(path: &Path, role: Role, name: &str) -> Result<String, AccessError> {
        if !is_name(name) {
            return Err(AccessError::Name(name.to_owned()));
        }
        if Self::read_any(path)?.0.iter().any(|entry| entry.name == name) {
            return Err(AccessError::Taken(path.to_owned()));
        }
        let failed = |source| AccessError::Write { path: path.to_owned(), source };
        let token = new_secret().map_err(failed)?;
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(path).map_err(failed)?;
        writeln!(file, "{role} {name} {}", hex(&hashed(&token))).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        Ok(token)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Who holds this token. The time depends on neither the token nor its hash: every entry is compared in full.
    pub fn holder(&self, token: &str) -> Option<Holder> {
        let presented = hashed(token);
        let mut found = None;
        for entry in &self.0 {
            if are_equal(&entry.sha256, &presented) {
                found = Some(entry);
            }
        }
        found.map(|entry| Holder { role: entry.role, name: entry.name.clone() })
    }
}

/// A secret that this process alone knows.
pub struct OwnSecret {
    secret: String,
    sha256: [u8; 32],
}

impl OwnSecret {
    pub fn of(secret: String) -> Self {
        Self { sha256: hashed(&secret), secret }
    }

    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// Whether this is the secret. The time depends on neither.
    pub fn is(&self, presented: &str) -> bool {
        are_equal(&self.sha256, &hashed(presented))
    }
}

/// # Errors
/// If the kernel gives no random bytes.
pub fn new_secret() -> std::io::Result<String> {
    Ok(format!("{PREFIX}{}", hex(&random()?)))
}

/// Compares all bytes, whichever differ.
fn are_equal(one: &[u8; 32], other: &[u8; 32]) -> bool {
    one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

fn entry(line: &str) -> Option<Entry> {
    let mut words = line.split_whitespace();
    let (role, name, sha256) = (words.next()?.parse().ok()?, words.next()?, words.next()?);
    (is_name(name) && words.next().is_none())
        .then(|| Some(Entry { role, name: name.to_owned(), sha256: unhex(sha256)? }))?
}

fn is_name(name: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

fn hashed(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

fn random() -> std::io::Result<[u8; SECRET_BYTES]> {
    let mut bytes = [0; SECRET_BYTES];
    let filled = getrandom(&mut bytes, GetRandomFlags::empty())?;
    if filled == SECRET_BYTES { Ok(bytes) } else { Err(ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_token_is_found_again_and_stored_as_its_hash_only() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tokens");
        let read = Tokens::add(&path, Role::Read, "grafana").unwrap();
        let admin = Tokens::add(&path, Role::Admin, "me").unwrap();
        assert!(matches!(Tokens::add(&path, Role::Run, "me"), Err(AccessError::Taken(_))));
        let tokens = Tokens::read(&path).unwrap();
        assert_eq!(tokens.holder(&read), Some(Holder { role: Role::Read, name: "grafana".into() }));
        assert_eq!(tokens.holder(&admin).unwrap().role, Role::Admin);
        assert_eq!(tokens.holder(&read[..read.len() - 1]), None);
        assert_eq!(tokens.holder(""), None);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&read) && !text.contains(&read[PREFIX.len()..]));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_line_that_is_no_token_is_refused_with_its_number() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tokens");
        let hash = "0".repeat(64);
        for bad in ["read", "boss me 00", &format!("read a/b {hash}"), &format!("read a {hash} more"), "read a é"] {
            std::fs::write(&path, format!("# tokens\n\n{bad}\n")).unwrap();
            assert!(matches!(Tokens::read(&path), Err(AccessError::Line { line: 3, .. })), "{bad}");
        }
        assert!(matches!(Tokens::add(&path, Role::Read, "two words"), Err(AccessError::Name(_))));
    }

    #[test]
    fn a_file_without_tokens_is_refused_and_so_is_one_that_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tokens");
        assert_eq!(Tokens::read_beside_mark(&path).unwrap(), Tokens::default());
        assert!(matches!(Tokens::read_named(&path), Err(AccessError::Missing(_))));
        std::fs::write(&path, "# none yet\n").unwrap();
        assert!(matches!(Tokens::read_named(&path), Err(AccessError::Empty(_))));
        assert!(matches!(Tokens::read_beside_mark(&path), Err(AccessError::Empty(_))));
        Tokens::add(&path, Role::Read, "grafana").unwrap();
        assert!(!Tokens::read_beside_mark(&path).unwrap().is_empty());
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(Tokens::read_beside_mark(&path), Err(AccessError::Lost { .. })));
    }

    #[test]
    fn each_role_includes_those_before_it() {
        assert!(Role::Read < Role::Run && Role::Run < Role::Admin);
        assert!(Role::ALL.iter().all(|role| role.to_string().parse::<Role>().unwrap() == *role));
    }
}
