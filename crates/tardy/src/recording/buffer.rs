//! A trace buffer of this machine, which may have been frozen, or may be of the last boot.

use super::bytes::{RecordedBytes, read_whole};
use super::unreadable::Unreadable;
use std::fs::File;
use std::path::Path;

const TEXT: &str = "trace";
const CLOCK: &str = "trace_clock";

/// Whether a directory is of a buffer.
pub fn is_one(directory: &Path) -> bool {
    [TEXT, CLOCK].iter().all(|name| directory.join(name).is_file())
}

/// The text of the events, which stays in the buffer when it is read, and the name of its clock.
///
/// # Errors
/// [`Unreadable`].
pub fn contents(directory: &Path) -> Result<(RecordedBytes, String), Unreadable> {
    let clocks = read_whole(File::open(directory.join(CLOCK))?)?;
    let text = read_whole(File::open(directory.join(TEXT))?)?;
    Ok((RecordedBytes::Memory(text), chosen(&String::from_utf8_lossy(&clocks)).to_owned()))
}

/// Of `local [mono] global`.
fn chosen(clocks: &str) -> &str {
    let inside = clocks.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(clocks.trim(), |(chosen, _)| chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_with_a_text_and_a_clock_is_a_buffer() {
        let directory = tempfile::tempdir().unwrap();
        assert!(!is_one(directory.path()));
        std::fs::write(directory.path().join(TEXT), "# tracer: nop\n").unwrap();
        std::fs::write(directory.path().join(CLOCK), "local global counter [mono] mono_raw\n").unwrap();
        assert!(is_one(directory.path()));
        let (bytes, clock) = contents(directory.path()).unwrap();
        assert_eq!(clock, "mono");
        assert!(matches!(bytes, RecordedBytes::Memory(text) if text.starts_with(b"# tracer")));
    }
}
