//! A page of text for a terminal or a pipe. All text on it is escaped.

use crate::terminal::screen;
use crate::terminal::table::Table;
use std::io::{self, IsTerminal, Write};
use words::printable::printable;

/// Columns to wrap lines to if the width of the terminal is unknown.
pub const COLUMNS: usize = 80;
/// Longer lines are hard to read, even on a wide terminal.
const COLUMNS_MAX: usize = 100;
/// A narrower terminal breaks the lines itself.
const COLUMNS_MIN: usize = 40;

/// With fewer columns a phrase is not beside its name.
const PHRASE_COLUMNS_MIN: usize = 30;

/// Whether a stream may be coloured: it is a terminal that is not dumb, and `NO_COLOR` is unset.
pub fn may_colour(stream: &impl IsTerminal) -> bool {
    let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    stream.is_terminal() && !forbidden && !dumb
}

/// Colour of a part of a line, if colours are allowed.
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
#[derive(Debug)]
pub struct Page {
    text: String,
    colour: bool,
    /// Columns of the terminal; `None` for a pipe or a file, where a line of a trace or a table may be as long as it is.
    terminal: Option<usize>,
}

impl Page {
    pub fn new(colour: bool) -> Self {
        Self { text: String::new(), colour, terminal: None }
    }

    /// A page for standard output.
    pub fn for_stdout() -> Self {
        Self { terminal: screen::width(), ..Self::new(may_colour(&io::stdout())) }
    }

    /// The same page for a terminal with `columns` columns.
    pub fn with_columns(self, columns: usize) -> Self {
        Self { terminal: Some(columns), ..self }
    }

    /// Columns of the terminal, or [`COLUMNS`].
    pub fn columns(&self) -> usize {
        self.terminal.unwrap_or(COLUMNS)
    }

    pub fn line(&mut self, text: &str) {
        self.text.push_str(printable(text).trim_end());
        self.text.push('\n');
    }

    /// A heading, wrapped to the terminal; the header of a table keeps its columns.
    pub fn heading(&mut self, text: &str) {
        let is_header = text.contains("  ");
        let lines = if is_header { vec![text.to_owned()] } else { self.lines_of("", text) };
        for line in lines {
            self.painted(&[(Some(Paint::Bold), line)]);
        }
    }

    /// A table, as wide as the terminal allows.
    pub fn table(&mut self, table: &Table) {
        let rows = table.rows_of_lines(self.terminal.unwrap_or(usize::MAX));
        rows.concat().iter().for_each(|line| self.line(line));
    }

    /// A table whose first row is its header.
    pub fn headed_table(&mut self, table: &Table) {
        let rows = table.rows_of_lines(self.terminal.unwrap_or(usize::MAX));
        for (at, lines) in rows.iter().enumerate() {
            for line in lines {
                self.painted(&[((at == 0).then_some(Paint::Bold), line.clone())]);
            }
        }
    }

    /// A table with a header and names in its first column; in a narrow terminal each row is a name and a phrase below it.
    pub fn records(&mut self, table: &Table) {
        if self.terminal.is_none_or(|columns| table.columns() <= columns) {
            return self.headed_table(table);
        }
        for (name, phrase) in table.records() {
            self.painted(&[(Some(Paint::Bold), name.to_owned())]);
            self.wrapped("    ", &phrase);
        }
    }

    /// A line of a trace: it keeps its columns if it fits.
    pub fn record(&mut self, indent: usize, line: &str) {
        let fits = self.terminal.is_none_or(|columns| indent + line.chars().count() <= columns);
        let indent = " ".repeat(indent);
        if fits { self.line(&format!("{indent}{line}")) } else { self.wrapped(&indent, line) }
    }

    /// Names in a column, each with a phrase beside it, or below it where the terminal is narrow.
    pub fn entries(&mut self, entries: &[(String, String)]) {
        let name_columns = entries.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let beside = self.columns() >= name_columns + 2 + PHRASE_COLUMNS_MIN;
        for (name, phrase) in entries {
            if beside {
                self.wrapped(&format!("{name:name_columns$}  "), phrase);
            } else {
                let indent = name.chars().take_while(|letter| *letter == ' ').count() + 2;
                self.line(name);
                self.wrapped(&" ".repeat(indent), phrase);
            }
        }
    }

    /// A line of several parts, each with its own colour.
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

    /// A conspicuous line.
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

    /// Text wrapped to the terminal, at most [`COLUMNS_MAX`]: the first line begins with `first`, the others with as many spaces.
    pub fn wrapped(&mut self, first: &str, text: &str) {
        self.lines_of(first, text).iter().for_each(|line| self.line(line));
    }

    /// The lines of such a text.
    pub fn lines_of(&self, first: &str, text: &str) -> Vec<String> {
        let indent = " ".repeat(first.chars().count());
        let mut lines = Vec::new();
        let mut line = first.to_owned();
        let mut empty = true;
        let room = self.columns().clamp(COLUMNS_MIN, COLUMNS_MAX);
        for word in unbroken(text) {
            let word = printable(&word);
            if !empty && line.chars().count() + 1 + word.chars().count() > room {
                lines.push(std::mem::replace(&mut line, indent.clone()));
                empty = true;
            }
            if !empty {
                line.push(' ');
            }
            line.push_str(&word);
            empty = false;
        }
        lines.push(line);
        lines
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Writes the page to standard output. A reader that has closed the pipe is not an error.
    ///
    /// # Errors
    /// Any other write error.
    pub fn print(self) -> io::Result<()> {
        write_stdout(self.text.as_bytes())
    }
}

/// Text that follows a figure and must stay on its line.
const UNITS: [&str; 9] = ["%", "ns", "µs", "ms", "s", "min", "h", "MB", "kB"];

/// The words of a text; a figure with its groups of digits and its unit counts as one word.
fn unbroken(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut figure = false;
    for word in text.split_whitespace() {
        let is_group = word.len() == 3 && word.bytes().all(|letter| letter.is_ascii_digit());
        let is_unit = UNITS.contains(&word.trim_end_matches(['.', ',', ';', ':', ')']));
        match words.last_mut() {
            Some(last) if figure && (is_group || is_unit) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
        figure = word.bytes().last().is_some_and(|letter| letter.is_ascii_digit());
    }
    words
}

/// Writes bytes to standard output; a closed pipe (`| head`) is not an error.
///
/// # Errors
/// Any other write error.
pub fn write_stdout(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(io::Error::new(error.kind(), format!("failed to write to standard output: {error}"))),
        Ok(()) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::table::Align;
    use fixtures::assert_sentence;

    #[test]
    fn long_text_is_wrapped_under_its_beginning() {
        let mut page = Page::new(false);
        page.wrapped("  fix  ", &"word ".repeat(40));
        let lines: Vec<&str> = page.text().lines().collect();
        assert!(lines.len() > 1 && lines.iter().all(|line| line.chars().count() <= COLUMNS), "{lines:?}");
        assert!(lines[0].starts_with("  fix  word") && lines[1].starts_with("       word"));
    }

    #[test]
    fn text_fits_narrow_terminals_and_stays_readable_on_wide_ones() {
        let widest = |columns| {
            let mut page = Page::new(false).with_columns(columns);
            page.wrapped("", &"word ".repeat(80));
            page.text().lines().map(|line| line.chars().count()).max().unwrap()
        };
        assert_eq!([50, 80, 180].map(widest), [49, 79, 99]);
    }

    #[test]
    fn a_phrase_is_below_its_name_where_there_is_no_room_beside_it() {
        let entries = [("  tardy check".to_owned(), "settings that hurt real-time work".to_owned())];
        let shown = |columns| {
            let mut page = Page::new(false).with_columns(columns);
            page.heading("How late does Linux wake your task, and why?");
            page.heading("CPU  cycles  missed   min  mean   p50    p99");
            page.entries(&entries);
            page.text().to_owned()
        };
        assert_sentence!("page-of-40-columns", shown(40));
        assert!(shown(60).ends_with("\n  tardy check  settings that hurt real-time work\n"), "{}", shown(60));
    }

    #[test]
    fn a_row_is_a_record_where_its_table_does_not_fit() {
        let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
        table.row(["board", "worst case", "since"]);
        table.row(["imx93-evk", "113.8 µs", "-"]);
        let shown = |columns| {
            let mut page = Page::new(false).with_columns(columns);
            page.records(&table);
            page.text().to_owned()
        };
        assert_eq!(shown(28), "board      worst case  since\nimx93-evk    113.8 µs  -\n");
        assert_eq!(shown(27), "imx93-evk\n    worst case 113.8 µs\n");
    }

    #[test]
    fn a_figure_stays_with_its_unit() {
        let words = unbroken("woke 39 964 times (5.04 ms, 98 % of it) on CPU 1 in 20.0 s.");
        assert_eq!(
            words,
            ["woke", "39 964", "times", "(5.04 ms,", "98 %", "of", "it)", "on", "CPU", "1", "in", "20.0 s."]
        );
        let mut page = Page::new(false).with_columns(40);
        page.wrapped("", "a b c d e f g h i j k l m n o p q r (98 % of it)");
        assert_eq!(page.text(), "a b c d e f g h i j k l m n o p q r\n(98 % of it)\n");
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
