//! The terminal while the table is on it: another screen, single keys, no cursor; and as it was before, whatever ends it.

use super::keys::{Key, Keys};
use crate::terminal::page::may_colour;
use crate::terminal::screen::is_utf8;
use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::Modifier;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A terminal without a second screen keeps its text unless it is cleared.
const ENTER: &str = "\x1b[?1049h\x1b[2J\x1b[?25l";
const LEAVE: &str = "\x1b[0m\x1b[?25h\x1b[?1049l";
/// A terminal that reports no size.
const SIZE: Size = Size { width: 80, height: 24 };
/// The rest of a sequence comes at once.
const SEQUENCE: Duration = Duration::from_millis(50);

/// The settings of the terminal before, while the table is on it.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Restores the terminal if the table is on it; nothing is drawn afterwards.
pub fn abandon() {
    let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(settings) = before.take() {
        let mut stdout = io::stdout();
        let _ = stdout.write_all(LEAVE.as_bytes()).and_then(|()| stdout.flush());
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &settings);
    }
}

/// The terminal; restored when this is dropped.
pub struct Screen {
    output: Vec<u8>,
    /// The cell behind the last one that was written, and its modifiers.
    at: Option<Position>,
    modifier: Modifier,
    attributes: bool,
    utf8: bool,
}

/// The terminal's keys.
#[derive(Default)]
pub struct Keyboard {
    keys: Keys,
}

impl Screen {
    /// Puts the table's screen on the terminal.
    ///
    /// # Errors
    /// If standard input is not a terminal.
    pub fn enter() -> io::Result<Self> {
        let settings = tcgetattr(io::stdin())?;
        let mut raw = settings.clone();
        raw.make_raw();
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(settings);
        let screen = Self {
            output: ENTER.into(),
            at: None,
            modifier: Modifier::empty(),
            attributes: may_colour(&io::stdout()),
            utf8: is_utf8(),
        };
        tcsetattr(io::stdin(), OptionalActions::Flush, &raw)?;
        Ok(screen)
    }

    fn write(&mut self, text: &str) {
        self.output.extend_from_slice(text.as_bytes());
    }

    fn set(&mut self, modifier: Modifier) {
        let codes = [(Modifier::BOLD, 1), (Modifier::DIM, 2), (Modifier::REVERSED, 7)];
        if self.attributes && modifier != self.modifier {
            self.write("\x1b[0m");
            for (one, code) in codes {
                if modifier.contains(one) {
                    self.write(&format!("\x1b[{code}m"));
                }
            }
            self.modifier = modifier;
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        abandon();
    }
}

/// A letter for a terminal that knows only ASCII.
fn ascii(symbol: &str) -> &str {
    match symbol {
        "µ" => "u",
        "…" => "~",
        "█" => "#",
        _ if symbol.is_ascii() => symbol,
        _ => "?",
    }
}

impl Backend for Screen {
    type Error = io::Error;

    fn draw<'a, I: Iterator<Item = (u16, u16, &'a Cell)>>(&mut self, content: I) -> io::Result<()> {
        for (x, y, cell) in content {
            let position = Position { x, y };
            if self.at != Some(position) {
                self.write(&format!("\x1b[{};{}H", y + 1, x + 1));
            }
            self.set(cell.modifier);
            let symbol = if self.utf8 { cell.symbol() } else { ascii(cell.symbol()) };
            self.write(symbol);
            // Behind another letter the cursor may be anywhere.
            self.at = symbol.is_ascii().then_some(Position { x: x + 1, y });
        }
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.write("\x1b[?25l");
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.write("\x1b[?25h");
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(self.at.unwrap_or_default())
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let Position { x, y } = position.into();
        self.write(&format!("\x1b[{};{}H", y + 1, x + 1));
        self.at = None;
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    fn clear_region(&mut self, region: ClearType) -> io::Result<()> {
        self.set(Modifier::empty());
        self.at = None;
        self.write(match region {
            ClearType::All => "\x1b[2J",
            ClearType::AfterCursor => "\x1b[J",
            ClearType::BeforeCursor => "\x1b[1J",
            ClearType::CurrentLine => "\x1b[2K",
            ClearType::UntilNewLine => "\x1b[K",
        });
        Ok(())
    }

    fn size(&self) -> io::Result<Size> {
        let size = tcgetwinsize(io::stdout())?;
        Ok(if size.ws_col == 0 || size.ws_row == 0 { SIZE } else { Size { width: size.ws_col, height: size.ws_row } })
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size()?, pixels: Size::default() })
    }

    fn flush(&mut self) -> io::Result<()> {
        let output = std::mem::take(&mut self.output);
        let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        if before.is_none() {
            return Err(io::ErrorKind::NotConnected.into());
        }
        let mut stdout = io::stdout();
        stdout.write_all(&output)?;
        stdout.flush()
    }
}

impl Keyboard {
    /// Waits for keys, at most this long.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn wait(&mut self, patience: Duration) -> io::Result<Vec<Key>> {
        let patience = if self.keys.waits() { SEQUENCE.min(patience) } else { patience };
        let stdin = io::stdin();
        let mut input = [PollFd::new(&stdin, PollFlags::IN)];
        let time = Timespec { tv_sec: patience.as_secs().cast_signed(), tv_nsec: patience.subsec_nanos().into() };
        match poll(&mut input, Some(&time)) {
            Ok(0) => return Ok(self.keys.quiet().into_iter().collect()),
            Err(Errno::INTR) => return Ok(Vec::new()),
            other => other?,
        };
        let mut bytes = [0; 256];
        match rustix::io::read(&stdin, &mut bytes) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => Ok(self.keys.read(&bytes[..count])),
            Err(Errno::INTR | Errno::AGAIN) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_beside_each_other_need_one_movement_and_attributes_their_end() {
        let mut screen =
            Screen { output: Vec::new(), at: None, modifier: Modifier::empty(), attributes: true, utf8: false };
        let mut cells = ["a", "µ", "漢", "b"].map(Cell::new);
        cells[3].modifier = Modifier::BOLD;
        screen.draw(cells.iter().zip([0, 1, 2, 4]).map(|(cell, x)| (x, 2, cell))).unwrap();
        assert_eq!(String::from_utf8_lossy(&screen.output), "\x1b[3;1Hau?\x1b[3;5H\x1b[0m\x1b[1mb");
        screen.output.clear();
        screen.clear().unwrap();
        assert_eq!(String::from_utf8_lossy(&screen.output), "\x1b[0m\x1b[2J");
        screen.attributes = false;
        screen.output.clear();
        screen.draw([(0, 0, &cells[3])].into_iter()).unwrap();
        assert_eq!(String::from_utf8_lossy(&screen.output), "\x1b[1;1Hb");
        assert!(screen.flush().is_err(), "the table is not on the terminal");
    }
}
