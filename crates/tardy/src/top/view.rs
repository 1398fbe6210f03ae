//! The screen: a table with its selected thread, or the account of that thread's worst wake-up, and the keys for it.

use super::keys::Key;
use super::table::{Snapshot, Sort, fitted};
use super::threads::Row;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Modifier, Style};
use ratatui_core::text::Span;

/// Lines above the table, with its header.
const ABOVE: u16 = 5;
/// Lines for the sentence about the selected thread.
const SENTENCE: u16 = 3;
/// Lines below the table, with the keys.
const BELOW: u16 = SENTENCE + 1;
const MARK: &str = "> ";

const KEYS_OF_TABLE: &str = "q end  s sort  up/down select  Enter account  p pause";
const KEYS_OF_ACCOUNT: &str = "q end  up/down scroll  Enter back  p pause";

/// The request of a key to the watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    Nothing,
    End,
}

/// The view on the screen.
#[derive(Debug, Default)]
pub struct View {
    sort: Sort,
    selected: Option<i32>,
    /// First line of the table, and first line of the account if that is shown.
    from: usize,
    account: Option<usize>,
    /// The figures of the pause.
    paused: Option<Snapshot>,
    page_rows: usize,
}

impl View {
    /// Processes a key; `now` is what would be shown without a pause.
    pub fn key(&mut self, key: Key, now: &Snapshot) -> Wish {
        match (key, &mut self.account) {
            (Key::Quit, _) | (Key::Escape, None) => return Wish::End,
            (Key::Escape | Key::Enter, Some(_)) => self.account = None,
            (Key::Pause, _) => {
                let paused = self.paused.take();
                self.paused = if paused.is_some() { None } else { Some(now.clone()) };
            }
            (Key::Up, Some(from)) => *from = from.saturating_sub(1),
            (Key::Down, Some(from)) => *from += 1,
            (Key::PageUp, Some(from)) => *from = from.saturating_sub(self.page_rows),
            (Key::PageDown, Some(from)) => *from += self.page_rows,
            (Key::Enter, None) => self.account = self.selected.map(|_| 0),
            (Key::Sort, _) => self.sort = self.sort.next(),
            (Key::Up | Key::Down | Key::PageUp | Key::PageDown, None) => self.select(key, now),
        }
        Wish::Nothing
    }

    fn select(&mut self, key: Key, now: &Snapshot) {
        let rows = self.sorted(self.paused.as_ref().unwrap_or(now));
        let Some(last) = rows.len().checked_sub(1) else { return };
        let at = self.position(&rows);
        let at = match key {
            Key::Up => at.saturating_sub(1),
            Key::Down => at + 1,
            Key::PageUp => at.saturating_sub(self.page_rows),
            _ => at + self.page_rows,
        };
        self.selected = Some(rows[at.min(last)].tid);
    }

    fn sorted(&self, snapshot: &Snapshot) -> Vec<Row> {
        let mut rows = snapshot.rows.clone();
        self.sort.sort(&mut rows);
        rows
    }

    fn position(&self, rows: &[Row]) -> usize {
        rows.iter().position(|row| Some(row.tid) == self.selected).unwrap_or(0)
    }

    /// Draws the screen.
    pub fn draw(&mut self, now: &Snapshot, area: Rect, buffer: &mut Buffer) {
        let paused = self.paused.take();
        let shown = paused.as_ref().unwrap_or(now);
        let mut paper = Paper { area, buffer };
        let state = if paused.is_some() { "paused  " } else { now.state };
        let columns = paper.columns();
        let time = format!("{state}{}", shown.time());
        let title = shown.title();
        let room = columns.saturating_sub(Span::raw(time.as_str()).width() + 1);
        paper.line(0, &format!("{} {time}", fitted(&title, room, false)), Modifier::BOLD);
        let rows = self.sorted(shown);
        let selected = self.position(&rows);
        self.selected = rows.get(selected).map(|row| row.tid).or(self.selected);
        match (self.account, rows.get(selected)) {
            (Some(from), Some(row)) => self.draw_account(shown, row, from, &mut paper),
            _ => self.draw_table(shown, &rows, selected, &mut paper),
        }
        self.paused = paused;
    }

    fn draw_table(&mut self, shown: &Snapshot, rows: &[Row], selected: usize, paper: &mut Paper) {
        let columns = paper.columns();
        paper.line(1, &format!("{}; by {}", shown.figures(), self.sort.title()), Modifier::empty());
        // A short cost leaves room for the newest problem; all of them are printed at the end.
        let notes = wrapped(&shown.cost(), columns, 2).into_iter().chain(shown.notice.clone());
        for (at, note) in notes.take(2).enumerate() {
            paper.line(2 + at as u16, &note, Modifier::empty());
        }
        let inner = columns.saturating_sub(MARK.len());
        paper.line(4, &format!("  {}", shown.header(inner)), Modifier::BOLD);
        self.page_rows = usize::from(paper.area.height.saturating_sub(ABOVE + BELOW));
        self.from = self.from.min(selected).max((selected + 1).saturating_sub(self.page_rows));
        self.from = self.from.min(rows.len().saturating_sub(self.page_rows));
        for (at, row) in rows.iter().enumerate().skip(self.from).take(self.page_rows) {
            let (mark, style) = if at == selected { (MARK, Modifier::REVERSED) } else { ("  ", Modifier::empty()) };
            let style = if row.has_ended { style | Modifier::DIM } else { style };
            let line = format!("{mark}{}", shown.row(row, inner));
            paper.line(ABOVE + (at - self.from) as u16, &fitted(&line, columns, false), style);
        }
        let below = paper.area.height.saturating_sub(BELOW);
        if let Some(row) = rows.get(selected) {
            let lines = wrapped(&shown.sentence(row), columns, usize::from(SENTENCE));
            for (at, line) in lines.iter().enumerate() {
                paper.line(below + at as u16, line, Modifier::empty());
            }
        }
        paper.line(paper.area.height.saturating_sub(1), KEYS_OF_TABLE, Modifier::DIM);
    }

    fn draw_account(&mut self, shown: &Snapshot, row: &Row, from: usize, paper: &mut Paper) {
        let columns = paper.columns();
        for (at, line) in wrapped(&shown.sentence(row), columns, usize::from(SENTENCE)).iter().enumerate() {
            paper.line(1 + at as u16, line, Modifier::empty());
        }
        let none = Vec::new();
        let explained = row.traced.as_ref().and_then(|traced| traced.explained.as_ref());
        let account = explained.map_or(&none, |explained| &explained.account);
        self.page_rows = usize::from(paper.area.height.saturating_sub(ABOVE + 1));
        let from = from.min(account.len().saturating_sub(self.page_rows));
        self.account = Some(from);
        for (at, line) in account.iter().skip(from).take(self.page_rows).enumerate() {
            paper.line(ABOVE + at as u16, line, Modifier::empty());
        }
        paper.line(paper.area.height.saturating_sub(1), KEYS_OF_ACCOUNT, Modifier::DIM);
    }
}

/// A buffer that is written line by line.
struct Paper<'a> {
    area: Rect,
    buffer: &'a mut Buffer,
}

impl Paper<'_> {
    fn columns(&self) -> usize {
        usize::from(self.area.width)
    }

    /// A line beyond the screen is left out.
    fn line(&mut self, at: u16, text: &str, modifier: Modifier) {
        if at < self.area.height {
            let style = Style::new().add_modifier(modifier);
            let columns = self.columns();
            self.buffer.set_stringn(self.area.x, self.area.y + at, text, columns, style);
        }
    }
}

/// Lines of this width; the last one is cut.
fn wrapped(text: &str, columns: usize, lines_max: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last().map_or("", String::as_str);
        let fits = last.is_empty() || Span::raw(last).width() + 1 + Span::raw(word).width() <= columns;
        if !fits && lines.len() < lines_max {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.iter().map(|line| fitted(line, columns, false).trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::{row, snapshot};
    use super::*;
    use fixtures::assert_sentence;
    use ratatui_core::backend::TestBackend;
    use ratatui_core::terminal::Terminal;

    /// The screen as text.
    fn screen(view: &mut View, snapshot: &Snapshot, columns: u16, rows: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        terminal.draw(|frame| view.draw(snapshot, frame.area(), frame.buffer_mut())).unwrap();
        let buffer = terminal.backend().buffer();
        let mut lines = Vec::new();
        for y in 0..rows {
            let mut line = String::new();
            let mut hidden = 0;
            for x in 0..columns {
                let symbol = buffer[(x, y)].symbol();
                if hidden == 0 {
                    line.push_str(symbol);
                }
                hidden = if hidden == 0 { Span::raw(symbol).width().saturating_sub(1) } else { hidden - 1 };
            }
            lines.push(line.trim_end().to_owned());
        }
        lines.join("\n").trim_end().to_owned()
    }

    fn press(view: &mut View, keys: &[Key]) {
        keys.iter().for_each(|key| assert_eq!(view.key(*key, &snapshot()), Wish::Nothing));
    }

    #[test]
    fn the_table_fits_a_small_and_a_large_terminal() {
        assert_sentence!("top-80x24", screen(&mut View::default(), &snapshot(), 80, 24));
        let without_limit = Snapshot { limit_ns: None, shed: Vec::new(), ..snapshot() };
        assert_sentence!("top-200x50", screen(&mut View::default(), &without_limit, 200, 50));
    }

    #[test]
    fn enter_shows_the_account_of_the_selected_thread_and_back() {
        let mut view = View::default();
        screen(&mut view, &snapshot(), 80, 24);
        press(&mut view, &[Key::Enter, Key::Down, Key::PageDown]);
        let account = screen(&mut view, &snapshot(), 80, 24);
        assert_sentence!("top-account-80x24", account);
        press(&mut view, &[Key::Escape]);
        assert_eq!(screen(&mut view, &snapshot(), 80, 24), screen(&mut View::default(), &snapshot(), 80, 24));
        assert_eq!(view.key(Key::Escape, &snapshot()), Wish::End);
    }

    #[test]
    fn the_selection_follows_its_thread_and_the_table_the_selection() {
        let mut view = View::default();
        let mut many = snapshot();
        many.rows = (0..100).map(|number| row(number, &format!("t{number}"), 1_000_000 - i64::from(number))).collect();
        screen(&mut view, &many, 80, 24);
        for _ in 0..40 {
            view.key(Key::Down, &many);
        }
        assert!(screen(&mut view, &many, 80, 24).contains("> t40 "), "it scrolls");
        many.rows[40].worst_ns = Some(9_000_000);
        let shown = screen(&mut view, &many, 80, 24);
        assert!(shown.lines().nth(5).unwrap().starts_with("> t40 "), "{shown}");
        many.rows.remove(40);
        assert!(screen(&mut view, &many, 80, 24).contains("> t0 "), "its thread is gone");
    }

    #[test]
    fn a_pause_keeps_the_figures_until_it_ends() {
        let mut view = View::default();
        press(&mut view, &[Key::Pause]);
        let later = Snapshot { rows: Vec::new(), ..snapshot() };
        let paused = screen(&mut view, &later, 80, 24);
        assert!(paused.contains("robot ") && paused.contains("paused"), "{paused}");
        press(&mut view, &[Key::Pause]);
        assert!(!screen(&mut view, &later, 80, 24).contains("robot "));
    }

    #[test]
    fn any_size_of_a_terminal_is_drawn() {
        for columns in 1..90 {
            for rows in 1..30 {
                let mut view = View::default();
                screen(&mut view, &snapshot(), columns, rows);
                press(&mut view, &[Key::Down, Key::PageUp, Key::Enter, Key::PageDown]);
                screen(&mut view, &snapshot(), columns, rows);
            }
        }
    }
}
