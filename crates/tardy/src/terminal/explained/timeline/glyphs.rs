//! The characters of the picture: block characters, or only ASCII if the locale lacks them.

use crate::terminal::page::Paint;
use archive::explanation::OwnerKind;
use words::printable::printable;

/// In a shorter stretch the name is left out.
const NAME_MIN: usize = 5;

/// One set of characters.
#[derive(Debug, Clone, Copy)]
pub struct Glyphs {
    utf8: bool,
    /// Points down at a column.
    pub down: char,
}

impl Glyphs {
    pub fn of(utf8: bool) -> Self {
        Self { utf8, down: if utf8 { '▼' } else { 'v' } }
    }

    /// The fill character of a kind.
    pub fn fill(&self, kind: OwnerKind) -> char {
        let (block, ascii) = match kind {
            OwnerKind::Nmi => ('◆', 'N'),
            OwnerKind::Hardirq => ('█', '#'),
            OwnerKind::Softirq => ('▚', '%'),
            OwnerKind::Task => ('░', ':'),
            OwnerKind::RtTask => ('▓', '='),
            OwnerKind::Own => ('━', '>'),
            OwnerKind::Tool => ('─', '-'),
            OwnerKind::Idle => ('·', '.'),
            OwnerKind::SilenceThisCpu => ('?', '?'),
            OwnerKind::SilenceAllCpus => ('!', '!'),
            OwnerKind::Steal => ('╳', 'S'),
            OwnerKind::Untraced => ('×', 'x'),
        };
        if self.utf8 { block } else { ascii }
    }

    /// An owner across `columns` columns, with its name if it fits.
    pub fn owner(&self, kind: OwnerKind, name: &str, columns: usize) -> String {
        self.filled(self.fill(kind), name, columns)
    }

    /// A phase across `columns` columns; `None` is outside the wake-up.
    pub fn phase(&self, title: Option<&str>, columns: usize) -> String {
        let Some(title) = title else { return " ".repeat(columns) };
        let (edge, line) = if self.utf8 { ('├', '─') } else { ('|', '-') };
        match columns {
            0 => String::new(),
            _ => format!("{edge}{}", self.filled(line, title, columns - 1)),
        }
    }

    /// A name in the middle of its fill, visibly cut if it is too long.
    fn filled(&self, fill: char, name: &str, columns: usize) -> String {
        let name = self.plain(&printable(name));
        let room = columns.saturating_sub(4);
        let length = name.chars().count();
        let shown: String = match length <= room {
            true => name,
            false if room >= NAME_MIN => {
                let cut: String = name.chars().take(room - 1).collect();
                format!("{}{}", cut.trim_end(), if self.utf8 { '…' } else { '~' })
            }
            false => return fill.to_string().repeat(columns),
        };
        if shown.is_empty() {
            return fill.to_string().repeat(columns);
        }
        let around = columns - shown.chars().count() - 2;
        let (before, after) = (around / 2, around - around / 2);
        format!("{} {shown} {}", fill.to_string().repeat(before), fill.to_string().repeat(after))
    }

    /// A text without characters that the locale lacks.
    pub fn plain(&self, text: &str) -> String {
        if self.utf8 {
            return text.to_owned();
        }
        text.replace('µ', "u").chars().map(|letter| if letter.is_ascii() { letter } else { '?' }).collect()
    }
}

/// The colour of a kind, which repeats the fill character.
pub fn paint(kind: OwnerKind) -> Paint {
    match kind {
        OwnerKind::Hardirq | OwnerKind::Nmi => Paint::Red,
        OwnerKind::Softirq => Paint::Yellow,
        OwnerKind::RtTask => Paint::Magenta,
        OwnerKind::Task => Paint::Blue,
        OwnerKind::Own => Paint::Green,
        OwnerKind::Tool => Paint::Cyan,
        OwnerKind::SilenceThisCpu | OwnerKind::SilenceAllCpus | OwnerKind::Steal => Paint::Bold,
        OwnerKind::Idle | OwnerKind::Untraced => Paint::Faint,
    }
}
