//! Keys and signatures as OpenSSH writes them, of Ed25519 alone: `ssh-keygen` makes, shows and checks the same.

mod private_key;
mod public_key;
mod signature;
mod wire;

pub use private_key::{KeyError, PrivateKey};
pub use public_key::{PublicKey, PublicKeyError, trusted_keys};
pub use signature::{Signature, SignatureError};

/// Name of the algorithm in every format.
const ED25519: &str = "ssh-ed25519";
