//! Capabilities of the terminal on standard output: its width, and whether it supports more than ASCII.

use std::ffi::OsString;
use std::io::{self, IsTerminal};

/// Columns of the terminal on standard output; `None` if it is not a terminal or its width is unknown.
pub fn width() -> Option<usize> {
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    rustix::termios::tcgetwinsize(stdout).ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Size of a terminal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    pub columns: usize,
    pub rows: usize,
}

/// Size of the terminal on standard error at present.
pub fn size_of_stderr() -> Option<Size> {
    let stderr = io::stderr();
    if !stderr.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(stderr).ok()?;
    let known = Size { columns: usize::from(size.ws_col), rows: usize::from(size.ws_row) };
    (known.columns > 0 && known.rows > 0).then_some(known)
}

/// Whether the locale's encoding is UTF-8, according to the environment variables that decide it.
pub fn is_utf8() -> bool {
    says_utf8(|name| std::env::var_os(name))
}

fn says_utf8(value: impl Fn(&str) -> Option<OsString>) -> bool {
    let set = |name| value(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
    let locale = locale.map(|locale| locale.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_decides() {
        let locale = |set: &'static [(&str, &str)]| {
            says_utf8(move |name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
        };
        assert!(locale(&[("LANG", "en_GB.UTF-8")]));
        assert!(locale(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8"), ("LANG", "C")]));
        assert!(!locale(&[("LC_ALL", "C"), ("LANG", "en_GB.UTF-8")]));
        assert!(!locale(&[]));
    }
}
