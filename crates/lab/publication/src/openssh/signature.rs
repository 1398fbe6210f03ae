//! Signatures of files (OpenSSH's PROTOCOL.sshsig): `ssh-keygen -Y sign` makes them and `-Y verify` checks them.

use super::ED25519;
use super::private_key::PrivateKey;
use super::public_key::PublicKey;
use super::wire::{Reader, armoured, put, unarmoured};
use ring::signature::{ED25519 as ALGORITHM, UnparsedPublicKey};
use sha2::{Digest, Sha512};
use thiserror::Error;

const TITLE: &str = "SSH SIGNATURE";
const MAGIC: &[u8] = b"SSHSIG";
const VERSION: u32 = 1;
const HASH: &str = "sha512";

/// Why a signature does not count.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum SignatureError {
    #[error("it is not an OpenSSH signature with Ed25519 and SHA-512")]
    Format,
    #[error("it was made for another purpose ({0:?})")]
    Namespace(String),
    #[error("it does not fit its file: the file or the signature was changed")]
    Wrong,
}

/// A signature and the key that claims to have made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature {
    pub key: PublicKey,
    bytes: [u8; 64],
}

impl Signature {
    /// Signs a message for a purpose. The same message gives the same signature.
    pub fn of(message: &[u8], namespace: &str, key: &PrivateKey) -> Self {
        Self { key: key.public(), bytes: key.sign(&signed(message, namespace)) }
    }

    /// The signature as a text file.
    pub fn text(&self, namespace: &str) -> String {
        let mut blob = MAGIC.to_vec();
        blob.extend(VERSION.to_be_bytes());
        put(&mut blob, &self.key.blob());
        put(&mut blob, namespace.as_bytes());
        put(&mut blob, b"");
        put(&mut blob, HASH.as_bytes());
        let mut signature = Vec::new();
        put(&mut signature, ED25519.as_bytes());
        put(&mut signature, &self.bytes);
        put(&mut blob, &signature);
        armoured(&blob, TITLE)
    }

    /// Reads the text of a signature for a purpose. Whether it is right, [`Self::check`] shows.
    ///
    /// # Errors
    /// [`SignatureError::Format`], [`SignatureError::Namespace`].
    pub fn parse(text: &str, namespace: &str) -> Result<Self, SignatureError> {
        let blob = unarmoured(text, TITLE).ok_or(SignatureError::Format)?;
        let (key, purpose, bytes) = parts(&blob).ok_or(SignatureError::Format)?;
        if purpose != namespace.as_bytes() {
            let purpose: String = String::from_utf8_lossy(purpose).chars().take(40).collect();
            return Err(SignatureError::Namespace(purpose));
        }
        Ok(Self { key, bytes })
    }

    /// Checks that the key signed this message for this purpose.
    ///
    /// # Errors
    /// [`SignatureError::Wrong`].
    pub fn check(&self, message: &[u8], namespace: &str) -> Result<(), SignatureError> {
        let key = UnparsedPublicKey::new(&ALGORITHM, self.key.0);
        key.verify(&signed(message, namespace), &self.bytes).map_err(|_| SignatureError::Wrong)
    }
}

/// The bytes over which Ed25519 signs.
fn signed(message: &[u8], namespace: &str) -> Vec<u8> {
    let mut signed = MAGIC.to_vec();
    put(&mut signed, namespace.as_bytes());
    put(&mut signed, b"");
    put(&mut signed, HASH.as_bytes());
    put(&mut signed, &Sha512::digest(message));
    signed
}

fn parts(blob: &[u8]) -> Option<(PublicKey, &[u8], [u8; 64])> {
    let mut reader = Reader(blob.strip_prefix(MAGIC)?);
    (reader.number()? == VERSION).then_some(())?;
    let key = PublicKey::from_blob(reader.string()?)?;
    let namespace = reader.string()?;
    reader.string()?;
    reader.expect(HASH)?;
    let mut signature = Reader(reader.string()?);
    signature.expect(ED25519)?;
    let bytes = signature.string()?.try_into().ok()?;
    (signature.is_empty() && reader.is_empty()).then_some((key, namespace, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_fits_its_message_key_and_purpose_alone() {
        let folder = tempfile::tempdir().unwrap();
        let key = PrivateKey::create(&folder.path().join("key")).unwrap();
        let other = PrivateKey::create(&folder.path().join("other")).unwrap();
        let signature = Signature::of(b"sums", "purpose", &key);
        let text = signature.text("purpose");
        let read = Signature::parse(&text, "purpose").unwrap();
        assert_eq!((read, read.check(b"sums", "purpose")), (signature, Ok(())));
        assert_eq!(read.check(b"sumz", "purpose"), Err(SignatureError::Wrong));
        assert_eq!(read.check(b"sums", "other"), Err(SignatureError::Wrong));
        assert_eq!(Signature::parse(&text, "other"), Err(SignatureError::Namespace("purpose".into())));
        let swapped = Signature { key: other.public(), ..read };
        assert_eq!(swapped.check(b"sums", "purpose"), Err(SignatureError::Wrong));
        for length in 0..text.trim_end().len() {
            assert_eq!(Signature::parse(&text[..length], "purpose"), Err(SignatureError::Format), "{length}");
        }
    }
}
