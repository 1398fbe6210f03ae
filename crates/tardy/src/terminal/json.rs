//! JSON documents as they are printed and stored: UTF-8 that ends with a line feed.

use super::page::write_stdout;
use serde::Serialize;

/// One line, for programs.
///
/// # Errors
/// When the value cannot be JSON.
pub fn line(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    ended(serde_json::to_vec(value))
}

/// Indented, for files that people read as well.
///
/// # Errors
/// When the value cannot be JSON.
pub fn indented(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    ended(serde_json::to_vec_pretty(value))
}

/// Prints one line.
///
/// # Errors
/// When the value cannot be JSON, or standard output is gone.
pub fn print(value: &impl Serialize) -> anyhow::Result<()> {
    Ok(write_stdout(&line(value)?)?)
}

fn ended(document: serde_json::Result<Vec<u8>>) -> serde_json::Result<Vec<u8>> {
    document.map(|mut text| {
        text.push(b'\n');
        text
    })
}
