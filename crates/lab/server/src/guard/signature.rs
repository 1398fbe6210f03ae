//! Signatures of webhooks: HMAC with SHA-256 (RFC 2104), as GitHub, Gitea and Forgejo send it, or the token that GitLab repeats.

use axum::http::HeaderMap;
use sha2::{Digest, Sha256};
use store::hmac::signature;

/// Whether the sender of a message knows the secret.
pub fn is_signed(headers: &HeaderMap, secret: &str, body: &[u8]) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(sent) = text("x-hub-signature-256") {
        return is_equal(sent.as_bytes(), signature(secret, body).as_bytes());
    }
    text("x-gitlab-token").is_some_and(|token| is_equal(token.as_bytes(), secret.as_bytes()))
}

/// Compares their checksums, so that the time of it shows nothing about the place of a difference.
fn is_equal(a: &[u8], b: &[u8]) -> bool {
    let (a, b) = (Sha256::digest(a), Sha256::digest(b));
    a.iter().zip(&b).fold(0, |differences, (a, b)| differences | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_without_the_secret_is_not_signed() {
        let headers =
            |name: &'static str, value: &str| HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())]);
        let signed = signature("key", b"body");
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
