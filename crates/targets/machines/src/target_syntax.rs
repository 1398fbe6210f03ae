//! Parses the TOML of target files, whichever kind of target they describe.

use serde::de::DeserializeOwned;
use thiserror::Error;

/// Why a target file is not valid TOML, with line and column if known.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", .0.to_string().trim())]
pub struct SyntaxError(toml::de::Error);

/// Parses the text of a target file of one kind and checks that its values are consistent.
///
/// # Errors
/// [`SyntaxError`], and the errors of `check`.
pub(crate) fn read_checked<T: DeserializeOwned, E: From<SyntaxError>>(
    text: &str,
    check: impl FnOnce(&T) -> Result<(), E>,
) -> Result<T, E> {
    let target: T = toml::from_str(text).map_err(SyntaxError)?;
    check(&target).map(|()| target)
}

/// Whether a text is one word that no program takes for an option.
pub(crate) fn is_plain_word(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('-') && !text.contains(char::is_whitespace)
}
