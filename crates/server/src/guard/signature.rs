//! Signatures of webhooks: HMAC with SHA-256 (RFC 2104), as GitHub, Gitea and Forgejo send it, or the token that GitLab repeats.

use axum::http::HeaderMap;
use sha2::{Digest, Sha256};

/// Block of SHA-256, in bytes.
const BLOCK: usize = 64;

/// Whether the sender of a message knows the secret.
pub fn is_signed(headers: &HeaderMap, secret: &str, body: &[u8]) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(signature) = text("x-hub-signature-256") {
        return is_equal(signature.as_bytes(), sign(secret, body).as_bytes());
    }
    text("x-gitlab-token").is_some_and(|token| is_equal(token.as_bytes(), secret.as_bytes()))
}

/// The value of `X-Hub-Signature-256` of a message.
pub fn sign(secret: &str, body: &[u8]) -> String {
    format!("sha256={}", hex(&hmac_sha256(secret.as_bytes(), body)))
}

/// Compares their checksums, so that the time of it shows nothing about the place of a difference.
fn is_equal(a: &[u8], b: &[u8]) -> bool {
    let (a, b) = (Sha256::digest(a), Sha256::digest(b));
    a.iter().zip(&b).fold(0, |differences, (a, b)| differences | (a ^ b)) == 0
}

fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0; BLOCK];
    if key.len() > BLOCK {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let padded = |pad: u8, text: &[u8]| {
        let mut hasher = Sha256::new();
        hasher.update(block.map(|byte| byte ^ pad));
        hasher.update(text);
        hasher.finalize()
    };
    padded(0x5c, &padded(0x36, message)).into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_cases_of_rfc_4231_hold() {
        let of = |key: &[u8], message: &[u8]| hex(&hmac_sha256(key, message));
        assert_eq!(of(&[0x0b; 20], b"Hi There"), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
        assert_eq!(
            of(b"Jefe", b"what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            of(&[0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }

    #[test]
    fn a_message_without_the_secret_is_not_signed() {
        let headers =
            |name: &'static str, value: &str| HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())]);
        let signed = sign("key", b"body");
        assert!(is_signed(&headers("x-hub-signature-256", &signed), "key", b"body"));
        assert!(!is_signed(&headers("x-hub-signature-256", &signed), "key", b"bodY"));
        assert!(!is_signed(&headers("x-hub-signature-256", &signed), "keY", b"body"));
        assert!(!is_signed(&headers("x-hub-signature-256", &signed[7..]), "key", b"body"));
        assert!(is_signed(&headers("x-gitlab-token", "key"), "key", b"body"));
        assert!(!is_signed(&headers("x-gitlab-token", ""), "key", b"body"));
        assert!(!is_signed(&HeaderMap::new(), "", b""));
        let mut both = headers("x-gitlab-token", "key");
        both.insert("x-hub-signature-256", "sha256=00".parse().unwrap());
        assert!(!is_signed(&both, "key", b"body"), "a wrong signature is not saved by a token");
    }
}
