//! HMAC with SHA-256 (RFC 2104): signatures of webhooks, and of requests to an object store.

use sha2::{Digest, Sha256};

/// Bytes that SHA-256 takes at a time.
const BLOCK: usize = 64;

/// The code of a message that arrives in parts.
#[derive(Debug, Clone)]
pub struct HmacSha256 {
    inner: Sha256,
    outer: Sha256,
}

impl HmacSha256 {
    pub fn new(key: &[u8]) -> Self {
        let mut block = [0; BLOCK];
        match key.len() {
            0..=BLOCK => block[..key.len()].copy_from_slice(key),
            _ => block[..32].copy_from_slice(&Sha256::digest(key)),
        }
        let padded = |pad: u8| Sha256::new_with_prefix(block.map(|byte| byte ^ pad));
        Self { inner: padded(0x36), outer: padded(0x5c) }
    }

    pub fn update(&mut self, part: &[u8]) {
        self.inner.update(part);
    }

    pub fn finish(mut self) -> [u8; 32] {
        self.outer.update(self.inner.finalize());
        self.outer.finalize().into()
    }
}

/// The value of `X-Hub-Signature-256` for a message, as GitHub, Gitea and Forgejo send it.
pub fn signature(secret: &str, message: &[u8]) -> String {
    let mut hmac = HmacSha256::new(secret.as_bytes());
    hmac.update(message);
    let code: String = hmac.finish().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={code}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test cases 1, 2 and 6 of RFC 4231: short keys, and one longer than a block.
    #[test]
    fn the_codes_are_those_of_rfc_4231() {
        let of = |key: &[u8], parts: &[&[u8]]| {
            let mut hmac = HmacSha256::new(key);
            parts.iter().for_each(|part| hmac.update(part));
            hmac.finish().iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        assert_eq!(
            of(&[0x0b; 20], &[b"Hi ", b"There"]),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
        assert_eq!(
            of(b"Jefe", &[b"what do ya want for nothing?"]),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            of(&[0xaa; 131], &[b"Test Using Larger Than Block-Size Key - Hash Key First"]),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
        assert_eq!(
            signature("Jefe", b"what do ya want for nothing?"),
            "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }
}
