//! What signing a request needs: SHA-256 and HMAC (RFC 2104), with the implementation that computes addresses anyway.

use object_store::client::{CryptoProvider, DigestAlgorithm, DigestContext, HmacContext, Signer, SigningAlgorithm};
use object_store::{Error, Result};
use sha2::{Digest, Sha256};

/// Bytes that SHA-256 takes at a time.
const BLOCK: usize = 64;

#[derive(Debug)]
pub struct Signing;

impl CryptoProvider for Signing {
    fn digest(&self, algorithm: DigestAlgorithm) -> Result<Box<dyn DigestContext>> {
        match algorithm {
            DigestAlgorithm::Sha256 => Ok(Box::new(Hash::default())),
            other => Err(unsupported(&format!("{other:?}"))),
        }
    }

    fn hmac(&self, algorithm: DigestAlgorithm, secret: &[u8]) -> Result<Box<dyn HmacContext>> {
        match algorithm {
            DigestAlgorithm::Sha256 => Ok(Box::new(Hmac::new(secret))),
            other => Err(unsupported(&format!("{other:?}"))),
        }
    }

    /// S3 uses no key pairs.
    fn sign(&self, algorithm: SigningAlgorithm, _: &[u8]) -> Result<Box<dyn Signer>> {
        Err(unsupported(&format!("{algorithm:?}")))
    }
}

fn unsupported(algorithm: &str) -> Error {
    Error::NotSupported { source: format!("{algorithm} is not supported").into() }
}

#[derive(Default)]
struct Hash {
    hasher: Sha256,
    result: Vec<u8>,
}

impl DigestContext for Hash {
    fn update(&mut self, data: &[u8]) {
        self.hasher.update(data);
    }

    fn finish(&mut self) -> Result<&[u8]> {
        self.result = self.hasher.finalize_reset().to_vec();
        Ok(&self.result)
    }
}

struct Hmac {
    inner: Sha256,
    outer: Sha256,
    result: Vec<u8>,
}

impl Hmac {
    fn new(secret: &[u8]) -> Self {
        let mut key = [0; BLOCK];
        match secret.len() {
            0..=BLOCK => key[..secret.len()].copy_from_slice(secret),
            _ => key[..32].copy_from_slice(&Sha256::digest(secret)),
        }
        let padded = |pad: u8| Sha256::new_with_prefix(key.map(|byte| byte ^ pad));
        Self { inner: padded(0x36), outer: padded(0x5c), result: Vec::new() }
    }
}

impl HmacContext for Hmac {
    fn update(&mut self, data: &[u8]) {
        self.inner.update(data);
    }

    fn finish(&mut self) -> Result<&[u8]> {
        self.outer.update(self.inner.finalize_reset());
        self.result = self.outer.finalize_reset().to_vec();
        Ok(&self.result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hmac(secret: &[u8], text: &[u8]) -> String {
        let mut context = Signing.hmac(DigestAlgorithm::Sha256, secret).unwrap();
        context.update(text);
        context.finish().unwrap().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Test cases 2 and 6 of RFC 4231: a short key, and one longer than a block.
    #[test]
    fn hmac_is_that_of_the_standard() {
        assert_eq!(
            hmac(b"Jefe", b"what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            hmac(&[0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }
}
