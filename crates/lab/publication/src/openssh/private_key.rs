//! The key with which a user signs, in the format of `ssh-keygen -t ed25519`, without a passphrase.

use super::ED25519;
use super::public_key::PublicKey;
use super::wire::{Reader, armoured, put, unarmoured};
use crate::pseudonym::PseudonymKey;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{Ed25519KeyPair, KeyPair};
use rustix::process::geteuid;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use thiserror::Error;

const TITLE: &str = "OPENSSH PRIVATE KEY";
const MAGIC: &[u8] = b"openssh-key-v1\0";
const BLOCK: usize = 8;
const FILE_BYTES_MAX: u64 = 64 << 10;

/// Why there is no key to sign with.
#[derive(Debug, Error)]
pub enum KeyError {
    #[error("there is no key {}; `--new-key` makes one there", .0.display())]
    Missing(PathBuf),
    #[error("failed to make the key {}: it exists; leave out --new-key to use it", .0.display())]
    Exists(PathBuf),
    #[error("failed to read the key {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("failed to write the key {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("the key {path} can be read by others (mode {mode:04o}); `chmod 600 {path}`, and make a new one if others have seen it", path = .path.display())]
    Open { path: PathBuf, mode: u32 },
    #[error("the key {} belongs to another user", .0.display())]
    Foreign(PathBuf),
    #[error("the key {path} has a passphrase, which tardy does not ask for; make a key for publications alone with --new-key", path = .0.display())]
    Encrypted(PathBuf),
    #[error("{} is not an Ed25519 private key; `ssh-keygen -t ed25519 -N ''` makes one, or --new-key", .0.display())]
    Kind(PathBuf),
}

/// A private key of Ed25519.
pub struct PrivateKey {
    seed: [u8; 32],
    pair: Ed25519KeyPair,
}

impl std::fmt::Debug for PrivateKey {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "PrivateKey of {}", self.public().fingerprint())
    }
}

impl PrivateKey {
    /// Reads the key of a file that only its user can read.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let fail = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => KeyError::Missing(path.to_owned()),
            _ => KeyError::Read { path: path.to_owned(), source },
        };
        let file =
            OpenOptions::new().read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed()).open(path);
        let file = file.map_err(fail)?;
        let found = file.metadata().map_err(fail)?;
        if !found.is_file() {
            return Err(KeyError::Kind(path.to_owned()));
        }
        if found.uid() != geteuid().as_raw() && !geteuid().is_root() {
            return Err(KeyError::Foreign(path.to_owned()));
        }
        if found.mode() & 0o077 != 0 {
            return Err(KeyError::Open { path: path.to_owned(), mode: found.mode() & 0o777 });
        }
        let mut text = String::new();
        file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(fail)?;
        Self::parse(&text, path)
    }

    fn parse(text: &str, path: &Path) -> Result<Self, KeyError> {
        let kind = || KeyError::Kind(path.to_owned());
        let bytes = unarmoured(text, TITLE).ok_or_else(kind)?;
        let mut reader = Reader(bytes.strip_prefix(MAGIC).ok_or_else(kind)?);
        let cipher = reader.string().ok_or_else(kind)?;
        if cipher != b"none" {
            return Err(KeyError::Encrypted(path.to_owned()));
        }
        seed(reader).and_then(Self::from_seed).ok_or_else(kind)
    }

    /// A new key.
    ///
    /// # Errors
    /// [`KeyError::Exists`], and those of writing. The public key is beside it, with `.pub` at the end of its name.
    pub fn create(path: &Path) -> Result<Self, KeyError> {
        let fail = |source: io::Error| match source.kind() {
            io::ErrorKind::AlreadyExists => KeyError::Exists(path.to_owned()),
            _ => KeyError::Write { path: path.to_owned(), source },
        };
        let mut random = [0; 36];
        let unavailable = |_| fail(io::Error::other("no randomness from the kernel"));
        SystemRandom::new().fill(&mut random).map_err(unavailable)?;
        let (seed, check) = random.split_at(32);
        let seed: [u8; 32] = seed.try_into().expect("32 bytes");
        let key = Self::from_seed(seed).ok_or_else(|| KeyError::Kind(path.to_owned()))?;
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            archive::directory::make_directories(folder).map_err(fail)?;
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(fail)?;
        let written = file.write_all(key.text(check).as_bytes()).and_then(|()| file.sync_all());
        written.map_err(fail)?;
        let public = public_path(path);
        let line = format!("{}\n", key.public().line());
        let written = File::create(&public).and_then(|mut file| file.write_all(line.as_bytes()));
        written.map_err(|source| KeyError::Write { path: public, source })?;
        Ok(key)
    }

    fn from_seed(seed: [u8; 32]) -> Option<Self> {
        Some(Self { seed, pair: Ed25519KeyPair::from_seed_unchecked(&seed).ok()? })
    }

    /// The file: the key without a passphrase and without a comment, which would name a user and a host.
    fn text(&self, check: &[u8]) -> String {
        let public = self.public();
        let mut secret = Vec::new();
        secret.extend(check);
        secret.extend(check);
        put(&mut secret, ED25519.as_bytes());
        put(&mut secret, &public.0);
        put(&mut secret, &[self.seed, public.0].concat());
        put(&mut secret, b"");
        let padding = secret.len().next_multiple_of(BLOCK) - secret.len();
        secret.extend((1..=padding).map(|number| number as u8));
        let mut bytes = MAGIC.to_vec();
        put(&mut bytes, b"none");
        put(&mut bytes, b"none");
        put(&mut bytes, b"");
        bytes.extend(1u32.to_be_bytes());
        put(&mut bytes, &public.blob());
        put(&mut bytes, &secret);
        armoured(&bytes, TITLE)
    }

    pub fn public(&self) -> PublicKey {
        PublicKey(self.pair.public_key().as_ref().try_into().expect("a key of Ed25519 has 32 bytes"))
    }

    pub(super) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.pair.sign(message).as_ref().try_into().expect("a signature of Ed25519 has 64 bytes")
    }

    /// The key for the pseudonyms of everything that is published with this one.
    pub fn pseudonyms(&self) -> PseudonymKey {
        PseudonymKey::from_secret(&self.seed)
    }
}

/// Where the public key of a private one is.
fn public_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".pub");
    name.into()
}

/// The seed of a single key of Ed25519 whose public key is right.
fn seed(mut reader: Reader<'_>) -> Option<[u8; 32]> {
    reader.expect("none")?;
    reader.string()?;
    (reader.number()? == 1).then_some(())?;
    let public = PublicKey::from_blob(reader.string()?)?;
    let mut secret = Reader(reader.string()?);
    (secret.number()? == secret.number()?).then_some(())?;
    secret.expect(ED25519)?;
    (secret.string()? == public.0).then_some(())?;
    let seed: [u8; 32] = secret.string()?.get(..32)?.try_into().ok()?;
    let pair = Ed25519KeyPair::from_seed_and_public_key(&seed, &public.0).ok()?;
    (pair.public_key().as_ref() == public.0).then_some(seed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_new_key_is_for_its_user_alone_and_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("below/key");
        let made = PrivateKey::create(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(PrivateKey::read(&path).unwrap().public(), made.public());
        assert_eq!(fs::read_to_string(folder.path().join("below/key.pub")).unwrap(), made.public().line() + "\n");
        assert!(matches!(PrivateKey::create(&path), Err(KeyError::Exists(_))));
        let shown = format!("{made:?}");
        assert!(shown.starts_with("PrivateKey of SHA256:"), "{shown}");
        assert_eq!(
            made.pseudonyms().pseudonym("host", "pi4"),
            PrivateKey::read(&path).unwrap().pseudonyms().pseudonym("host", "pi4")
        );
    }

    #[test]
    fn a_key_that_others_can_read_or_that_is_none_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        assert!(matches!(PrivateKey::read(&path), Err(KeyError::Missing(_))));
        PrivateKey::create(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let refusal = PrivateKey::read(&path).unwrap_err();
        assert!(matches!(refusal, KeyError::Open { mode: 0o640, .. }) && refusal.to_string().contains("chmod 600"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        for length in 0..text.trim_end().len() {
            fs::write(&path, &text[..length]).unwrap();
            assert!(matches!(PrivateKey::read(&path), Err(KeyError::Kind(_))), "{length}");
        }
        let directory = PrivateKey::read(folder.path()).unwrap_err();
        assert!(matches!(directory, KeyError::Kind(_)), "{directory}");
    }
}
