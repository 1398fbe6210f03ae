//! Columns of text, aligned by their contents.

use words::printable::printable;

/// How a column is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// Spaces between two columns.
const GAP: usize = 2;
/// A column of words is at least this wide.
const WORDS_MIN: usize = 10;

/// A table that is laid out once it is complete.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(columns: &[Align]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub fn row<Cell: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().map(|cell| printable(cell.as_ref())).collect());
    }

    /// The rows as lines, two spaces between columns.
    pub fn lines(&self) -> Vec<String> {
        self.rows_of_lines(usize::MAX).concat()
    }

    /// Columns that the whole table takes.
    pub fn columns(&self) -> usize {
        self.widths(usize::MAX).iter().map(|width| width + GAP).sum::<usize>().saturating_sub(GAP)
    }

    /// Each row below the header as a name and the other cells with their titles; `-` and nothing are left out.
    pub fn records(&self) -> Vec<(&str, String)> {
        let Some((titles, rows)) = self.rows.split_first() else { return Vec::new() };
        let phrase = |row: &[String]| {
            let cells = titles.iter().zip(row).skip(1).filter(|(_, cell)| !matches!(cell.as_str(), "" | "-"));
            cells.map(|(title, cell)| format!("{title} {cell}")).collect::<Vec<_>>().join("; ")
        };
        rows.iter().filter_map(|row| Some((row.first()?.as_str(), phrase(row)))).collect()
    }

    /// The lines of each row in a terminal with `columns` columns: titles of figures in the first row are wrapped, then the
    /// widest columns of words, and figures never.
    pub fn rows_of_lines(&self, columns: usize) -> Vec<Vec<String>> {
        let widths = self.widths(columns);
        self.rows.iter().map(|row| self.wrapped(row, &widths)).collect()
    }

    /// Widths of the columns: those of their contents, narrower where that is too wide for the terminal.
    fn widths(&self, columns: usize) -> Vec<usize> {
        let widest =
            |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(|cell: &String| width(cell)).max();
        let mut widths: Vec<usize> = (0..self.columns.len()).map(|column| widest(column).unwrap_or(0)).collect();
        let all = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        let mut excess = all.saturating_sub(columns);
        let mut of_words: Vec<usize> = (0..widths.len()).filter(|at| self.columns[*at] == Align::Left).collect();
        of_words.sort_by_key(|at| std::cmp::Reverse(widths[*at]));
        let of_figures = (0..widths.len()).filter(|at| self.columns[*at] == Align::Right);
        let least = |at: usize| if self.columns[at] == Align::Left { WORDS_MIN } else { self.figures_width(at) };
        for at in of_figures.chain(of_words) {
            let narrower = widths[at].saturating_sub(excess).max(least(at)).min(widths[at]);
            excess -= widths[at] - narrower;
            widths[at] = narrower;
        }
        widths
    }

    /// Width of a column of figures whose title is wrapped.
    fn figures_width(&self, column: usize) -> usize {
        let Some((title, figures)) = self.rows.split_first() else { return 0 };
        let indent = |title: &str| title.chars().take_while(|letter| *letter == ' ').count();
        let longest = |title: &String| title.split_whitespace().map(width).max().unwrap_or(0) + indent(title);
        let words = title.get(column).map(longest);
        let figures = figures.iter().filter_map(|row| row.get(column)).map(|cell: &String| width(cell));
        words.into_iter().chain(figures).max().unwrap_or(0)
    }

    fn wrapped(&self, row: &[String], widths: &[usize]) -> Vec<String> {
        let cells: Vec<Vec<String>> = row.iter().zip(widths).map(|(cell, room)| pieces(cell, *room)).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let line = |at: usize| -> Vec<String> {
            cells.iter().map(|pieces| pieces.get(at).cloned().unwrap_or_default()).collect()
        };
        (0..height).map(|at| self.line(&line(at), widths)).collect()
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let cells = row.iter().zip(&self.columns).zip(widths).map(|((cell, align), widest)| {
            let fill = " ".repeat(widest.saturating_sub(width(cell)));
            match align {
                Align::Left => format!("{cell}{fill}"),
                Align::Right => format!("{fill}{cell}"),
            }
        });
        cells.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_owned()
    }
}

/// The pieces of a cell, each at most `room` wide, further ones below the first. A word that is too long is cut.
fn pieces(cell: &str, room: usize) -> Vec<String> {
    if width(cell) <= room {
        return vec![cell.to_owned()];
    }
    let indent: String = cell.chars().take_while(|letter| *letter == ' ').collect();
    let room = room.saturating_sub(width(&indent)).max(1);
    let mut pieces = vec![String::new()];
    for word in cell.split_whitespace() {
        for (at, part) in parts(word, room).into_iter().enumerate() {
            let last = pieces.last_mut().expect("there is always one");
            let gap = usize::from(at == 0 && !last.is_empty());
            if !last.is_empty() && (at > 0 || width(last) + gap + width(&part) > room) {
                pieces.push(part);
            } else {
                last.push_str(&" ".repeat(gap));
                last.push_str(&part);
            }
        }
    }
    pieces.into_iter().map(|piece| format!("{indent}{piece}")).collect()
}

/// A word in parts of at most `room` letters, cut after a hyphen or another mark if there is one.
fn parts(word: &str, room: usize) -> Vec<String> {
    let mut letters: Vec<char> = word.chars().collect();
    let mut parts = Vec::new();
    while letters.len() > room {
        let mark = letters[..room].iter().rposition(|letter| "-/:_,=".contains(*letter));
        let rest = letters.split_off(mark.map_or(room, |at| at + 1));
        parts.push(std::mem::replace(&mut letters, rest).into_iter().collect());
    }
    parts.push(letters.into_iter().collect());
    parts
}

fn width(cell: &str) -> usize {
    cell.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&[Align::Left, Align::Right]);
        table.row(["CPU", "max"]);
        table.row(["0", "153.2 µs"]);
        assert_eq!(table.lines(), ["CPU       max", "0    153.2 µs"]);
    }

    #[test]
    fn words_are_wrapped_where_the_terminal_is_narrow_and_figures_are_not() {
        let mut table = Table::new(&[Align::Left, Align::Left, Align::Right]);
        table.row(["  thread", "verdict", "at most"]);
        table.row(["  stress-ng-cycli-12345 timer", "not enough data", "1 200.25"]);
        assert_eq!(
            table.rows_of_lines(32).concat(),
            [
                "  thread    verdict      at most",
                "  stress-   not enough  1 200.25",
                "  ng-       data",
                "  cycli-",
                "  12345",
                "  timer",
            ]
        );
        let mut titled = Table::new(&[Align::Right, Align::Right, Align::Right]);
        titled.row(["  CPU", "times an hour", "at most"]);
        titled.row(["0", "2.00", "1 200.25"]);
        assert_eq!(
            titled.rows_of_lines(24).concat(),
            ["  CPU    times   at most", "       an hour", "    0     2.00  1 200.25"].map(str::to_owned)
        );
        assert_eq!(table.rows_of_lines(200), table.lines().into_iter().map(|line| vec![line]).collect::<Vec<_>>());
    }
}
