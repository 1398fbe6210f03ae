//! Public keys: those of a signature, and those that a user trusts.

use super::ED25519;
use super::wire::{Reader, put};
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, Engine};
use sha2::{Digest, Sha256};
use std::fmt;
use thiserror::Error;

/// A public key of Ed25519.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublicKey(pub [u8; 32]);

/// Why a file of trusted keys is not used.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum PublicKeyError {
    #[error("it has no key; a line is `ssh-ed25519 KEY`, as in the .pub file beside the key of `tardy lab publish`")]
    NoKey,
    #[error("it is a private key; name the file with .pub at its end")]
    Private,
    #[error("line {0} is not an Ed25519 key; a line is `ssh-ed25519 KEY`, or `NAME ssh-ed25519 KEY`")]
    Line(usize),
    #[error(
        "line {0} restricts its key with options, which tardy does not check; leave them out, or use `ssh-keygen -Y verify`"
    )]
    Options(usize),
    #[error(
        "line {0} excludes principals with `!`, which tardy does not check; leave the line out, or use `ssh-keygen -Y verify`"
    )]
    Negated(usize),
}

impl PublicKey {
    /// The key as it stands in signatures and, in base64, in files.
    pub fn blob(&self) -> Vec<u8> {
        let mut blob = Vec::new();
        put(&mut blob, ED25519.as_bytes());
        put(&mut blob, &self.0);
        blob
    }

    pub(super) fn from_blob(blob: &[u8]) -> Option<Self> {
        let mut reader = Reader(blob);
        reader.expect(ED25519)?;
        let key = reader.string()?.try_into().ok()?;
        reader.is_empty().then_some(Self(key))
    }

    /// One line for a file of keys, without a comment: that would name a user and a host.
    pub fn line(&self) -> String {
        format!("{ED25519} {}", BASE64_STANDARD.encode(self.blob()))
    }

    /// `SHA256:...`, as `ssh-keygen -l` shows it.
    pub fn fingerprint(&self) -> String {
        format!("SHA256:{}", BASE64_STANDARD_NO_PAD.encode(Sha256::digest(self.blob())))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.fingerprint())
    }
}

/// The keys of a file: lines of public keys, or of `ssh-keygen`'s allowed signers without options.
///
/// # Errors
/// [`PublicKeyError`], also for one line among good ones: a key that is silently left out is missed later.
pub fn trusted_keys(text: &str) -> Result<Vec<PublicKey>, PublicKeyError> {
    if text.contains("-----BEGIN") {
        return Err(PublicKeyError::Private);
    }
    let mut keys = Vec::new();
    let lines = text.lines().map(str::trim).enumerate();
    for (index, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let number = index + 1;
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|word| *word == ED25519).ok_or(PublicKeyError::Line(number))?;
        if at > 1 {
            return Err(PublicKeyError::Options(number));
        }
        if words[..at].iter().any(|principals| principals.contains('!')) {
            return Err(PublicKeyError::Negated(number));
        }
        let blob = words.get(at + 1).and_then(|word| BASE64_STANDARD.decode(word).ok());
        keys.push(blob.and_then(|blob| PublicKey::from_blob(&blob)).ok_or(PublicKeyError::Line(number))?);
    }
    if keys.is_empty() { Err(PublicKeyError::NoKey) } else { Ok(keys) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_keys_and_of_allowed_signers_are_read_and_options_refused() {
        let key = PublicKey([7; 32]);
        let line = key.line();
        for text in [line.clone(), format!("# lab\n\nlab@example.org {line}\n"), format!("{line} a comment")] {
            assert_eq!(trusted_keys(&text), Ok(vec![key]), "{text}");
        }
        assert_eq!(trusted_keys("# nothing\n"), Err(PublicKeyError::NoKey));
        assert_eq!(trusted_keys("lab cert-authority ssh-ed25519 AAAA"), Err(PublicKeyError::Options(1)));
        assert_eq!(trusted_keys(&format!("*,!mallory {line}")), Err(PublicKeyError::Negated(1)));
        assert_eq!(trusted_keys(&format!("{line}\nssh-rsa AAAA")), Err(PublicKeyError::Line(2)));
        assert_eq!(trusted_keys(&line[..line.len() - 8]), Err(PublicKeyError::Line(1)));
        assert_eq!(trusted_keys("-----BEGIN OPENSSH PRIVATE KEY-----"), Err(PublicKeyError::Private));
    }
}
