//! Splits letters into lines, and reassembles them from the lines that arrive.

use super::line::{base64, from_base64, opened, sealed};
use std::fmt::Write;

/// Bytes of one piece; with framing, lines stay below the 256 characters that small line buffers hold.
pub const PIECE_BYTES: usize = 165;
/// Most pieces of one letter.
const PIECES_MAX: u32 = 1 << 18;
/// Most numbers of missing pieces on one line; the others are requested after these have come.
const MISSING_MAX: usize = 24;

/// Sender of a letter: an echo of a question is not an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Host,
    Board,
}

/// One undamaged line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// The board listens, and uses this version.
    Ready {
        version: u32,
    },
    Piece(Piece),
    /// The host lacks these pieces of an answer; the list is empty if no piece has come.
    Missing {
        letter: u32,
        numbers: Vec<u32>,
    },
    /// The board is still working on this question.
    Busy {
        letter: u32,
    },
}

/// A piece of a letter. Question and answer have the same number; pieces are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub from: Side,
    pub letter: u32,
    pub number: u32,
    pub count: u32,
    pub bytes: Vec<u8>,
}

impl Line {
    /// Parses the line inside a text with arbitrary surroundings; `None` if there is no undamaged one.
    pub fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = opened(text)?.split(' ').collect();
        Some(match words[..] {
            ["R", version] => Self::Ready { version: version.parse().ok()? },
            ["B", letter] => Self::Busy { letter: letter.parse().ok()? },
            ["M", letter, ref numbers @ ..] if numbers.len() <= MISSING_MAX => {
                let numbers: Option<Vec<u32>> = numbers.iter().map(|number| number.parse().ok()).collect();
                Self::Missing { letter: letter.parse().ok()?, numbers: numbers? }
            }
            [side @ ("Q" | "A"), letter, place, letters] => {
                let (number, count) = place.split_once('/')?;
                let (number, count) = (number.parse().ok()?, count.parse().ok()?);
                let from = if side == "Q" { Side::Host } else { Side::Board };
                let bytes = from_base64(letters)?;
                let sound = number < count && count <= PIECES_MAX && bytes.len() <= PIECE_BYTES;
                let piece = Piece { from, letter: letter.parse().ok()?, number, count, bytes };
                return sound.then_some(Self::Piece(piece));
            }
            _ => return None,
        })
    }

    /// The line as sent, including its end.
    pub fn text(&self) -> String {
        sealed(&match self {
            Self::Ready { version } => format!("R {version}"),
            Self::Busy { letter } => format!("B {letter}"),
            Self::Missing { letter, numbers } => {
                let mut text = format!("M {letter}");
                for number in numbers.iter().take(MISSING_MAX) {
                    let _ = write!(text, " {number}");
                }
                text
            }
            Self::Piece(Piece { from, letter, number, count, bytes }) => {
                let side = if *from == Side::Host { 'Q' } else { 'A' };
                format!("{side} {letter} {number}/{count} {}", base64(bytes))
            }
        })
    }
}

/// The lines of a letter.
///
/// # Panics
/// If it has more than [`super::LETTER_BYTES_MAX`] bytes, which no receiver accepts.
pub fn lines(from: Side, letter: u32, bytes: &[u8]) -> Vec<String> {
    assert!(bytes.len() <= super::LETTER_BYTES_MAX, "a letter of {} bytes would be opened by nobody", bytes.len());
    // An empty letter is one empty piece, because it must arrive, too.
    let count = bytes.len().div_ceil(PIECE_BYTES).max(1) as u32;
    let piece = |number: u32| {
        let begin = number as usize * PIECE_BYTES;
        let bytes = bytes[begin..bytes.len().min(begin + PIECE_BYTES)].to_vec();
        Line::Piece(Piece { from, letter, number, count, bytes }).text()
    };
    (0..count).map(piece).collect()
}

/// The received part of a letter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gathered {
    pieces: Vec<Option<Vec<u8>>>,
}

impl Gathered {
    /// Adds a piece of this letter; returns whether it is new.
    pub fn take(&mut self, piece: Piece) -> bool {
        if self.pieces.is_empty() {
            self.pieces = vec![None; piece.count as usize];
        }
        let agrees = self.pieces.len() == piece.count as usize;
        match self.pieces.get_mut(piece.number as usize) {
            Some(place @ None) if agrees => {
                *place = Some(piece.bytes);
                true
            }
            _ => false,
        }
    }

    /// The complete letter, if all pieces have come.
    pub fn whole(&self) -> Option<Vec<u8>> {
        let pieces: Option<Vec<&[u8]>> = self.pieces.iter().map(Option::as_deref).collect();
        pieces.filter(|pieces| !pieces.is_empty()).map(|pieces| pieces.concat())
    }

    /// Whether any piece has come.
    pub fn is_begun(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// The numbers of the first missing pieces, at most as many as fit one line.
    pub fn missing(&self) -> Vec<u32> {
        let numbers = self.pieces.iter().enumerate().filter(|(_, piece)| piece.is_none());
        numbers.map(|(number, _)| number as u32).take(MISSING_MAX).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::line::MARK;
    use super::*;
    use proptest::prelude::*;

    fn piece(text: &str) -> Option<Piece> {
        match Line::parse(text)? {
            Line::Piece(piece) => Some(piece),
            _ => None,
        }
    }

    #[test]
    fn a_line_with_the_most_bytes_fits_the_smallest_buffer() {
        let longest = Piece {
            from: Side::Board,
            letter: 99_999,
            number: PIECES_MAX - 2,
            count: PIECES_MAX - 1,
            bytes: vec![0; PIECE_BYTES],
        };
        assert!(Line::Piece(longest).text().len() <= 255);
        let numbers = vec![PIECES_MAX; MISSING_MAX + 10];
        let text = Line::Missing { letter: 99_999, numbers }.text();
        assert!(text.len() <= 255 && Line::parse(&text).is_some(), "{text}");
    }

    #[test]
    fn every_line_comes_back() {
        let bytes = vec![0, 255, 10];
        let piece = Piece { from: Side::Host, letter: 7, number: 1, count: 2, bytes };
        let missing = Line::Missing { letter: 7, numbers: vec![0, 4] };
        let nothing_came = Line::Missing { letter: 7, numbers: Vec::new() };
        for line in [Line::Ready { version: 1 }, Line::Busy { letter: 3 }, missing, nothing_came, Line::Piece(piece)] {
            assert_eq!(Line::parse(&line.text()), Some(line));
        }
    }

    #[test]
    fn pieces_that_contradict_each_other_make_no_letter() {
        let of = |number: u32, count: u32| Piece { from: Side::Board, letter: 1, number, count, bytes: vec![1] };
        let mut gathered = Gathered::default();
        assert!(gathered.take(of(0, 2)) && !gathered.take(of(0, 2)) && !gathered.take(of(1, 3)));
        assert_eq!((gathered.whole(), gathered.missing()), (None, vec![1]));
    }

    proptest! {
        #[test]
        fn a_letter_survives_noise_as_long_as_its_pieces_are_repeated(
            bytes in proptest::collection::vec(any::<u8>(), 0..3000),
            noise in proptest::collection::vec((0usize..5000, "[\\[a-zA-Z0-9 .\\]:~\r\n]{1,40}"), 0..20),
            dropped in proptest::collection::vec(0usize..5000, 0..20),
        ) {
            let sent = lines(Side::Board, 5, &bytes);
            let mut text = sent.concat();
            for at in dropped {
                let at = at.min(text.len() - 1);
                text.remove(at);
            }
            for (at, words) in noise {
                text.insert_str(at.min(text.len()), &words);
            }
            let mut gathered = Gathered::default();
            for line in text.split('\n') {
                if let Some(piece) = piece(line) {
                    gathered.take(piece);
                }
            }
            if !gathered.is_begun() {
                gathered.take(piece(&sent[0]).unwrap());
            }
            for _ in 0..sent.len() {
                for number in gathered.missing() {
                    prop_assert!(gathered.take(piece(&sent[number as usize]).unwrap()));
                }
            }
            prop_assert_eq!(gathered.whole(), Some(bytes));
        }

        #[test]
        fn random_lines_never_panic(text in ".{0,300}", bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Line::parse(&text);
            let _ = Line::parse(&String::from_utf8_lossy(&bytes));
            // Some lines with a valid checksum are not in canonical form.
            if let Some(Line::Piece(piece)) = Line::parse(&sealed(&text)) {
                Gathered::default().take(piece);
            }
            let _ = Line::parse(&format!("{MARK}A 1 0/1 {text}"));
        }
    }
}
