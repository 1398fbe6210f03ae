//! Prints JSON documents.

use super::page::write_stdout;
pub use interchange::json::{indented, line};
use serde::Serialize;

/// Prints one line.
///
/// # Errors
/// If the value cannot be represented in JSON, or standard output is closed.
pub fn print(value: &impl Serialize) -> anyhow::Result<()> {
    Ok(write_stdout(&line(value)?)?)
}
