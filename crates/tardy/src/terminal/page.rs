//! A page of text on its way to a terminal or a pipe. Nothing gets on it unescaped.

use std::io::{self, IsTerminal, Write};
use words::printable::printable;

/// Columns that lines are wrapped to, wherever they go.
pub const COLUMNS: usize = 80;

/// Whether a stream may be coloured: a terminal that is not dumb, and `NO_COLOR` unset.
pub fn may_colour(stream: &impl IsTerminal) -> bool {
    let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    stream.is_terminal() && !forbidden && !dumb
}

/// How a part of a line is coloured, where colours are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    Bold,
    Faint,
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
}

impl Paint {
    fn code(self) -> u8 {
        match self {
            Self::Bold => 1,
            Self::Faint => 2,
            Self::Red => 31,
            Self::Green => 32,
            Self::Yellow => 33,
            Self::Blue => 34,
            Self::Magenta => 35,
            Self::Cyan => 36,
        }
    }
}

/// Lines collected for one output.
#[derive(Debug, Default)]
pub struct Page {
    text: String,
    colour: bool,
}

impl Page {
    pub fn new(colour: bool) -> Self {
        Self { text: String::new(), colour }
    }

    /// A page for standard output.
    pub fn for_stdout() -> Self {
        Self::new(may_colour(&io::stdout()))
    }

    pub fn line(&mut self, text: &str) {
        self.text.push_str(printable(text).trim_end());
        self.text.push('\n');
    }

    pub fn heading(&mut self, text: &str) {
        let safe = printable(text);
        if self.colour {
            self.text.push_str(&format!("\x1b[1m{safe}\x1b[0m\n"));
        } else {
            self.line(text);
        }
    }

    /// A line of several parts, each in its colour.
    pub fn painted(&mut self, parts: &[(Option<Paint>, String)]) {
        if !self.colour {
            return self.line(&parts.iter().map(|(_, text)| text.as_str()).collect::<String>());
        }
        for (paint, text) in parts {
            let safe = printable(text);
            match paint {
                Some(paint) => self.text.push_str(&format!("\x1b[{}m{safe}\x1b[0m", paint.code())),
                None => self.text.push_str(&safe),
            }
        }
        self.text.push('\n');
    }

    /// A line that must not be overlooked.
    pub fn alarm(&mut self, text: &str) {
        let safe = printable(text);
        if self.colour {
            self.text.push_str(&format!("\x1b[1;31m{safe}\x1b[0m\n"));
        } else {
            self.line(text);
        }
    }

    pub fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// Text wrapped to [`COLUMNS`]: the first line begins with `first`, the others with as many spaces.
    pub fn wrapped(&mut self, first: &str, text: &str) {
        let indent = " ".repeat(first.chars().count());
        let mut line = first.to_owned();
        let mut empty = true;
        for word in text.split_whitespace() {
            let word = printable(word);
            if !empty && line.chars().count() + 1 + word.chars().count() > COLUMNS {
                self.line(&line);
                line.clone_from(&indent);
                empty = true;
            }
            if !empty {
                line.push(' ');
            }
            line.push_str(&word);
            empty = false;
        }
        self.line(&line);
    }

    #[cfg(test)]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Writes the page to standard output. A reader that went away is not an error.
    ///
    /// # Errors
    /// Any other failure of writing.
    pub fn print(self) -> io::Result<()> {
        write_stdout(self.text.as_bytes())
    }
}

/// Writes bytes to standard output; a closed pipe (`| head`) is not an error.
///
/// # Errors
/// Any other failure of writing.
pub fn write_stdout(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_wrapped_under_its_beginning() {
        let mut page = Page::new(false);
        page.wrapped("  fix  ", &"word ".repeat(40));
        let lines: Vec<&str> = page.text().lines().collect();
        assert!(lines.len() > 1 && lines.iter().all(|line| line.chars().count() <= COLUMNS), "{lines:?}");
        assert!(lines[0].starts_with("  fix  word") && lines[1].starts_with("       word"));
    }

    #[test]
    fn nothing_gets_on_the_page_unescaped() {
        let mut page = Page::new(true);
        page.line("a\x1b[2J");
        page.wrapped("b\x1b", "c\x1b\x07 d");
        page.heading("e\x1b]0;title\x07");
        let ours = page.text().replace("\x1b[1m", "").replace("\x1b[0m", "");
        assert!(!ours.chars().any(|letter| letter.is_control() && letter != '\n'), "{ours:?}");
    }
}
