//! Archives made anonymous by rules, packed and signed as one file, and the check of such a file.
//!
//! * [`rules`] lists what happens to each field; [`anonymous`] applies it to everything that an archive contains.
//! * [`package`] writes the file, [`verification`] checks and unpacks it.
//! * [`openssh`] holds the formats of keys and signatures, so that `ssh-keygen -Y verify` checks a file as well.
//!
//! A field that no rule mentions is treated as text of unknown origin: of it only known words, numbers and units stay.

mod anonymous;
mod changes;
mod description;
pub mod openssh;
pub mod package;
mod pattern;
mod pseudonym;
pub mod rules;
mod text;
pub mod verification;
mod vocabulary;

pub use anonymous::{AnonymousRun, RunError, anonymous_run, known_names};
pub use changes::{Change, Changes};
pub use description::{PUBLICATION_VERSION, Publication};
pub use pseudonym::PseudonymKey;
pub use text::Names;
pub use vocabulary::functions::names as kernel_functions;
pub use vocabulary::words_of;

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
