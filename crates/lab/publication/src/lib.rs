//! Archives made anonymous by rules, packed and signed as one file, and the check of such a file.
//!
//! * [`rules`] lists what happens to each field; [`anonymous`] applies it to everything that an archive contains.
//! * [`package`] writes the file, [`verification`] checks and unpacks it.
//! * [`openssh`] holds the formats of keys and signatures, so that `ssh-keygen -Y verify` checks a file as well.
//!
//! A text that no rule mentions is emptied.

mod anonymous;
mod changes;
mod description;
mod figure;
mod functions;
pub mod openssh;
mod own_word;
pub mod package;
mod pattern;
mod pseudonym;
pub mod rules;
mod text;
pub mod verification;

pub use anonymous::{AnonymousRun, RunError, anonymous_run};
pub use changes::{Change, Changes};
pub use description::{PUBLICATION_VERSION, Publication};
pub use functions::KernelFunctions;
pub use pseudonym::PseudonymKey;

/// Namespace of the signatures, as `ssh-keygen -Y verify -n` takes it.
pub const NAMESPACE: &str = "tardy-publication";
/// Digests of all other files of a publication, as `sha256sum` writes them.
pub const SUMS: &str = "SHA256SUMS";
/// The signature of [`SUMS`].
pub const SIGNATURE: &str = "SHA256SUMS.sig";
/// Name of the file that describes the contents, as [`Publication`].
pub const DESCRIPTION: &str = "publication.json";
/// How to check a publication without tardy.
pub const README: &str = "README.txt";
/// The folder with a folder for each run.
pub const RUNS: &str = "runs";
