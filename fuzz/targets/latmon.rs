//! A stimulus board that sends anything, in pieces of any length.
#![no_main]

use libfuzzer_sys::{arbitrary, fuzz_target};
use protocol::latmon::{CELLS_MAX, Decoder, Part, Record};
use tardy_fuzz::within_budget;

#[derive(Debug, arbitrary::Arbitrary)]
enum Said<'a> {
    Any(&'a [u8]),
    /// Answers that a record can have, between these latencies.
    Record { answers: u16, a: u32, b: u32, share: u8, overruns: u32 },
    Empty { overruns: u32 },
    Cells { count: u32 },
}

impl Said<'_> {
    fn bytes(&self) -> Vec<u8> {
        match *self {
            Self::Any(bytes) => bytes.to_vec(),
            Self::Record { answers, a, b, share, overruns } => {
                let (min_ns, max_ns, answers) = (a.min(b), a.max(b), u32::from(answers));
                let (least, most) = (u64::from(answers) * u64::from(min_ns), u64::from(answers) * u64::from(max_ns));
                let sum_ns = least + (most - least) / 255 * u64::from(share);
                Record { sum_ns, min_ns, max_ns, overruns, answers }.bytes().to_vec()
            }
            Self::Empty { overruns } => {
                Record { sum_ns: 0, min_ns: u32::MAX, max_ns: 0, overruns, answers: 0 }.bytes().to_vec()
            }
            Self::Cells { count } => count.to_be_bytes().repeat(CELLS_MAX as usize),
        }
    }
}

fuzz_target!(|input: (u32, u32, Vec<Said>)| {
    let (period_us, cells, said) = input;
    let pieces: Vec<Vec<u8>> = said.iter().take(100).map(Said::bytes).collect();
    let bytes = pieces.iter().map(Vec::len).sum();
    within_budget(bytes, || {
        let mut decoder = Decoder::new(period_us, cells);
        let mut parts = Vec::new();
        for piece in pieces {
            if let Err(why) = decoder.push(&piece, &mut parts) {
                assert!(!why.to_string().is_empty());
                break;
            }
        }
        assert!(parts.len() <= bytes / 4 + 1, "every part has its bytes");
        for part in parts {
            match part {
                Part::Record(record) => {
                    assert!(record.answers > 0 && record.min_ns <= record.max_ns);
                    assert!(record.sum_ns / u64::from(record.answers) <= u64::from(record.max_ns));
                }
                Part::Cells(cells) => assert!(cells.len() <= CELLS_MAX as usize),
                Part::Last { .. } => {}
            }
        }
    });
});
