//! A short answer: parts in the order of reading, at most [`LINES`] lines in all.

use crate::terminal::page::Page;
use crate::terminal::table::Table;

/// Lines of an answer on a terminal of 80 columns.
pub const LINES: usize = 12;

/// Consecutive lines. A part gives up lines from its end if the answer is too long.
struct Part {
    lines: Vec<String>,
    /// The part keeps at least this many.
    least: usize,
}

/// The parts of an answer.
pub struct Short {
    page: Page,
    parts: Vec<Part>,
}

impl Short {
    pub fn on(page: Page) -> Self {
        Self { page, parts: Vec::new() }
    }

    /// Text that may be cut to `least` lines.
    pub fn text(&mut self, least: usize, first: &str, text: &str) {
        let lines = self.page.lines_of(first, text);
        self.parts.push(Part { least: least.min(lines.len()), lines });
    }

    /// Text of which one line is shown.
    pub fn line(&mut self, text: &str) {
        let mut lines = self.page.lines_of("", text);
        if lines.len() > 1 {
            lines.truncate(1);
            lines[0] = ellipsed(&lines[0], self.page.columns());
        }
        self.parts.push(Part { least: lines.len(), lines });
    }

    /// Text that may be cut to one line, if there is any.
    pub fn optional(&mut self, first: &str, text: Option<impl AsRef<str>>) {
        if let Some(text) = text {
            self.text(1, first, text.as_ref());
        }
    }

    /// Text that is never cut.
    pub fn whole(&mut self, first: &str, text: &str) {
        self.text(usize::MAX, first, text);
    }

    /// Commands, one below the other. They are there to be copied, so none is cut.
    pub fn commands(&mut self, commands: &[String]) {
        let labels = ["Next:   "].into_iter().chain(std::iter::repeat("        "));
        let lines: Vec<String> =
            labels.zip(commands).flat_map(|(label, command)| self.page.lines_of(label, command)).collect();
        self.parts.push(Part { least: lines.len(), lines });
    }

    /// The command line as typed, with the option that shows the rest.
    pub fn more(&mut self, typed: &[String]) {
        let words: Vec<String> = typed.iter().skip(1).chain([&"--more".to_owned()]).cloned().collect();
        self.commands(&[format!("tardy {}", archive::shell::line(&words))]);
    }

    pub fn table(&mut self, table: &Table) {
        let lines = table.rows_of_lines(self.page.columns()).concat();
        self.parts.push(Part { least: lines.len(), lines });
    }

    /// Lays the answer out.
    pub fn lay_out(self) -> Page {
        let mut page = self.page;
        let parts = shortened(self.parts, page.columns());
        let mut parts = parts.iter().filter(|part| !part.lines.is_empty());
        // The first part is the answer in one sentence.
        parts.next().iter().flat_map(|part| &part.lines).for_each(|line| page.heading(line));
        parts.flat_map(|part| &part.lines).for_each(|line| page.line(line));
        page
    }
}

/// Takes lines from the longest part until all fit.
fn shortened(mut parts: Vec<Part>, columns: usize) -> Vec<Part> {
    while parts.iter().map(|part| part.lines.len()).sum::<usize>() > LINES {
        let spare = |part: &Part| part.lines.len().saturating_sub(part.least);
        // Of equally long parts the last one gives up a line: the most important come first.
        let Some(longest) = parts.iter_mut().filter(|part| spare(part) > 0).max_by_key(|part| spare(part)) else {
            break;
        };
        longest.lines.pop();
        if let Some(last) = longest.lines.last_mut() {
            *last = ellipsed(last, columns);
        }
    }
    parts
}

/// The line with a sign that it goes on, within the columns.
fn ellipsed(line: &str, columns: usize) -> String {
    let mut kept = line.trim_end_matches('…');
    if kept.chars().count() >= columns {
        kept = kept.rsplit_once(' ').map_or(kept, |(before, _)| before);
    }
    format!("{}…", kept.trim_end_matches([' ', ',', ';', ':', '.']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(lines: usize, least: usize) -> Part {
        Part { lines: (0..lines).map(|line| format!("line {line},")).collect(), least }
    }

    #[test]
    fn the_longest_part_gives_up_lines_first() {
        let parts = shortened(vec![part(2, 2), part(9, 1), part(3, 1), part(3, 3)], 80);
        let kept: Vec<usize> = parts.iter().map(|part| part.lines.len()).collect();
        assert_eq!(kept.iter().sum::<usize>(), LINES);
        assert_eq!((kept[0], kept[3]), (2, 3), "{kept:?}");
        assert_eq!(shortened(vec![part(20, 1)], 80)[0].lines.last().unwrap(), "line 11…");
    }

    #[test]
    fn commands_are_never_cut() {
        let mut short = Short::on(Page::new(false).with_columns(40));
        short.text(1, "", &"word ".repeat(200));
        short.commands(&["tardy explain here --more".into(), "tardy report x".into()]);
        let page = short.lay_out();
        assert_eq!(page.text().lines().count(), LINES);
        let commands = "Next:   tardy explain here --more\n        tardy report x\n";
        assert!(page.text().ends_with(commands), "{}", page.text());
        assert!(page.text().lines().all(|line| line.chars().count() <= 40), "{}", page.text());
    }
}
