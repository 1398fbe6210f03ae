//! Pseudonyms: the same name has the same one under one key, and without the key no candidate can be tried.

use ring::hmac;
use std::fmt;

const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// 45 bits: two of a million names have the same pseudonym with a probability of 1 in 70.
const LENGTH: usize = 9;
/// Keeps this use of the secret apart from every other.
const PURPOSE: &[u8] = b"tardy publication: pseudonyms, version 1";

/// The secret from which pseudonyms are made.
pub struct PseudonymKey(hmac::Key);

impl PseudonymKey {
    /// The key that belongs to a secret.
    pub fn from_secret(secret: &[u8]) -> Self {
        let derived = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), PURPOSE);
        Self(hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref()))
    }

    /// The pseudonym of a name, `PREFIX-abcdefghi`.
    pub fn pseudonym(&self, prefix: &str, name: &str) -> String {
        let tag = hmac::sign(&self.0, name.as_bytes());
        let letters: String =
            tag.as_ref()[..LENGTH].iter().map(|byte| char::from(LETTERS[usize::from(byte & 31)])).collect();
        format!("{prefix}-{letters}")
    }
}

impl fmt::Debug for PseudonymKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("PseudonymKey(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pseudonym_depends_on_key_and_name_and_on_nothing_else() {
        let (key, other) = (PseudonymKey::from_secret(b"a secret"), PseudonymKey::from_secret(b"another"));
        let of = |key: &PseudonymKey, name: &str| key.pseudonym("host", name);
        assert_eq!(of(&key, "pi4"), of(&PseudonymKey::from_secret(b"a secret"), "pi4"));
        assert_ne!(of(&key, "pi4"), of(&key, "pi5"));
        assert_ne!(of(&key, "pi4"), of(&other, "pi4"));
        assert_eq!(of(&key, "pi4").len(), "host-".len() + LENGTH);
        assert!(!format!("{key:?}").contains("a secret"));
    }
}
