//! A board that prints anything on its console: noise, letters, and pieces of letters.
#![no_main]

use libfuzzer_sys::{arbitrary, fuzz_target};
use machines::board::fuzzing::{answered, seen};
use machines::labgrid::PlaceState;
use protocol::console::letter::{Side, lines};
use protocol::console::{Answer, pack};
use tardy_fuzz::within_budget;

#[derive(Debug, arbitrary::Arbitrary)]
enum Said<'a> {
    Noise(&'a [u8]),
    Letter { number: u8, packed: bool, bytes: &'a [u8], lines_max: u8 },
}

impl Said<'_> {
    /// Approximate number of bytes that the board puts on the line.
    fn bytes(&self) -> usize {
        match self {
            Self::Noise(bytes) | Self::Letter { bytes, .. } => bytes.len(),
        }
    }
}

fuzz_target!(|said: Vec<Said>| {
    let bytes = said.iter().map(Said::bytes).sum();
    within_budget(bytes, || {
        let mut all = Vec::new();
        for words in said {
            match words {
                Said::Noise(bytes) => all.extend_from_slice(bytes),
                Said::Letter { number, packed, bytes, lines_max } => {
                    let letter = if packed { pack(&Answer::Done, bytes) } else { bytes.to_vec() };
                    let lines = lines(Side::Board, u32::from(number % 3), &letter);
                    all.extend(lines.into_iter().take(usize::from(lines_max)).flat_map(String::into_bytes));
                }
            }
        }
        answered(&all);
        seen(&all);
        PlaceState::parse(&String::from_utf8_lossy(&all)).services().for_each(drop);
    });
});
