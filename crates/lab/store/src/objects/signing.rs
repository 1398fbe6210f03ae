//! Signatures of requests: SHA-256 and HMAC, with the implementation that computes addresses anyway.

use crate::hmac::HmacSha256;
use object_store::client::{CryptoProvider, DigestAlgorithm, DigestContext, HmacContext, Signer, SigningAlgorithm};
use object_store::{Error, Result};
use sha2::{Digest, Sha256};

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
            DigestAlgorithm::Sha256 => Ok(Box::new(Hmac { hmac: HmacSha256::new(secret), result: [0; 32] })),
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
    hmac: HmacSha256,
    result: [u8; 32],
}

impl HmacContext for Hmac {
    fn update(&mut self, data: &[u8]) {
        self.hmac.update(data);
    }

    fn finish(&mut self) -> Result<&[u8]> {
        self.result = self.hmac.clone().finish();
        Ok(&self.result)
    }
}
