//! The protocol of EVL's latmon: a board gives stimuli on a wire, and sends what it measured of the answers.
//!
//! The host connects to the board (TCP, port 2306) and asks for a period and a number of histogram cells. About once a second the
//! board sends a record. A request of zeros ends the measurement: a last record if there are further answers, an empty record,
//! and the cells. All numbers are big-endian; latencies are in ns, cells are 1 µs wide.

use std::fmt;

/// The longest period that a board accepts.
pub const PERIOD_US_MAX: u32 = 1_000_000;
/// Most cells that a board accepts.
pub const CELLS_MAX: u32 = 1000;

const REQUEST_BYTES: usize = 8;
const RECORD_BYTES: usize = 24;
const CELL_BYTES: usize = 4;

/// Ends the measurement.
pub const STOP: [u8; REQUEST_BYTES] = [0; REQUEST_BYTES];

/// Starts a measurement.
pub fn start(period_us: u32, cells: u32) -> [u8; REQUEST_BYTES] {
    let mut request = [0; REQUEST_BYTES];
    request[..4].copy_from_slice(&period_us.to_be_bytes());
    request[4..].copy_from_slice(&cells.to_be_bytes());
    request
}

/// Answers in one record: a board sends one when it has this number.
pub fn answers_of_a_record(period_us: u32) -> u32 {
    PERIOD_US_MAX / period_us.clamp(1, PERIOD_US_MAX)
}

/// The measurements of a board since the record before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    pub sum_ns: u64,
    pub min_ns: u32,
    pub max_ns: u32,
    pub overruns: u32,
    pub answers: u32,
}

impl Record {
    pub fn parse(bytes: &[u8; RECORD_BYTES]) -> Self {
        let number = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let sum_ns = u64::from(number(0)) << 32 | u64::from(number(4));
        Self { sum_ns, min_ns: number(8), max_ns: number(12), overruns: number(16), answers: number(20) }
    }

    pub fn bytes(&self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..8].copy_from_slice(&self.sum_ns.to_be_bytes());
        for (at, number) in [(8, self.min_ns), (12, self.max_ns), (16, self.overruns), (20, self.answers)] {
            bytes[at..at + 4].copy_from_slice(&number.to_be_bytes());
        }
        bytes
    }

    /// A contradiction within the record.
    fn contradiction(&self, answers_max: u32) -> Option<Contradiction> {
        let answers = u64::from(self.answers);
        if self.answers > answers_max {
            return Some(Contradiction::Answers { answers: self.answers, answers_max });
        }
        if self.min_ns > self.max_ns {
            return Some(Contradiction::Order { min_ns: self.min_ns, max_ns: self.max_ns });
        }
        let sums = answers * u64::from(self.min_ns)..=answers * u64::from(self.max_ns);
        (!sums.contains(&self.sum_ns)).then_some(Contradiction::Sum { sum_ns: self.sum_ns, answers: self.answers })
    }
}

/// Why bytes are not what a latmon board sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contradiction {
    Answers {
        answers: u32,
        answers_max: u32,
    },
    Order {
        min_ns: u32,
        max_ns: u32,
    },
    Sum {
        sum_ns: u64,
        answers: u32,
    },
    /// It went on after the end.
    Beyond {
        bytes: usize,
    },
}

impl fmt::Display for Contradiction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answers { answers, answers_max } => {
                write!(out, "a record has {answers} answers, and at most {answers_max} fit in one")
            }
            Self::Order { min_ns, max_ns } => {
                write!(out, "a record has a minimum of {min_ns} ns above its maximum of {max_ns} ns")
            }
            Self::Sum { sum_ns, answers } => {
                write!(
                    out,
                    "a record has a sum of {sum_ns} ns, which {answers} answers between its minimum and maximum cannot have"
                )
            }
            Self::Beyond { bytes } => write!(out, "{bytes} bytes came after the histogram"),
        }
    }
}

/// A part of what a board sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Record(Record),
    /// No more records follow; stimuli that had no answer since the last one.
    Last {
        overruns: u32,
    },
    /// Answers by latency.
    Cells(Vec<u32>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Records,
    Cells,
    Nothing,
}

/// Reads what a board sends after one request, in pieces of any length. It holds at most one record or the cells.
#[derive(Debug)]
pub struct Decoder {
    answers_max: u32,
    cells: usize,
    expected: Expected,
    held: Vec<u8>,
}

impl Decoder {
    /// For the answer to a request with this period and number of cells.
    pub fn new(period_us: u32, cells: u32) -> Self {
        Self {
            answers_max: answers_of_a_record(period_us),
            cells: cells.min(CELLS_MAX) as usize,
            expected: Expected::Records,
            held: Vec::new(),
        }
    }

    /// Whether everything has come.
    pub fn is_complete(&self) -> bool {
        self.expected == Expected::Nothing
    }

    /// The next parts.
    ///
    /// # Errors
    /// A contradiction of the protocol; the parts before it are in `parts`. Nothing that comes later makes sense.
    pub fn push(&mut self, mut bytes: &[u8], parts: &mut Vec<Part>) -> Result<(), Contradiction> {
        while !bytes.is_empty() {
            let wanted = match self.expected {
                Expected::Records => RECORD_BYTES,
                Expected::Cells => self.cells * CELL_BYTES,
                Expected::Nothing => return Err(Contradiction::Beyond { bytes: bytes.len() }),
            };
            let (taken, rest) = bytes.split_at(bytes.len().min(wanted - self.held.len()));
            self.held.extend_from_slice(taken);
            bytes = rest;
            if self.held.len() == wanted {
                parts.push(self.part()?);
                self.held.clear();
            }
        }
        Ok(())
    }

    /// The part whose bytes are all here.
    fn part(&mut self) -> Result<Part, Contradiction> {
        if self.expected == Expected::Cells {
            self.expected = Expected::Nothing;
            let cell = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
            return Ok(Part::Cells(self.held.chunks(CELL_BYTES).map(cell).collect()));
        }
        let mut bytes = [0; RECORD_BYTES];
        bytes.copy_from_slice(&self.held);
        let record = Record::parse(&bytes);
        if record.answers == 0 {
            // Its minimum is the largest number.
            self.expected = if self.cells == 0 { Expected::Nothing } else { Expected::Cells };
            return Ok(Part::Last { overruns: record.overruns });
        }
        record.contradiction(self.answers_max).map_or(Ok(Part::Record(record)), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RECORD: Record = Record { sum_ns: 90_000, min_ns: 26_375, max_ns: 33_508, overruns: 1, answers: 3 };
    const EMPTY: Record = Record { sum_ns: 0, min_ns: u32::MAX, max_ns: 0, overruns: 2, answers: 0 };

    fn decoded(bytes: &[u8], cells: u32, piece: usize) -> (Vec<Part>, Result<bool, Contradiction>) {
        let (mut decoder, mut parts) = (Decoder::new(1000, cells), Vec::new());
        let outcome = bytes.chunks(piece.max(1)).try_for_each(|bytes| decoder.push(bytes, &mut parts));
        (parts, outcome.map(|()| decoder.is_complete()))
    }

    #[test]
    fn requests_and_records_have_their_bytes() {
        assert_eq!(start(1000, 200), [0, 0, 3, 0xe8, 0, 0, 0, 200]);
        let record = Record { sum_ns: 1 << 32 | 2, min_ns: 3, max_ns: 4, overruns: 5, answers: 6 };
        let bytes = [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 6];
        assert_eq!((record.bytes(), Record::parse(&bytes)), (bytes, record));
    }

    #[test]
    fn a_measurement_is_records_an_empty_one_and_cells() {
        let bytes = [&RECORD.bytes()[..], &EMPTY.bytes(), &[0, 0, 0, 0, 0, 0, 1, 2]].concat();
        let parts = vec![Part::Record(RECORD), Part::Last { overruns: 2 }, Part::Cells(vec![0, 258])];
        for piece in [1, 5, 24, 100] {
            assert_eq!(decoded(&bytes, 2, piece), (parts.clone(), Ok(true)));
        }
        assert_eq!(decoded(&bytes[..50], 2, 50), (parts[..2].to_vec(), Ok(false)));
        assert_eq!(decoded(&bytes[..48], 0, 50), (parts[..2].to_vec(), Ok(true)));
        assert_eq!(decoded(&bytes, 0, 100).1, Err(Contradiction::Beyond { bytes: 8 }));
    }

    #[test]
    fn records_that_cannot_be_are_refused() {
        let refused = |record: Record| decoded(&record.bytes(), 0, 24).1.unwrap_err();
        let answers = refused(Record { answers: 1001, ..RECORD });
        assert_eq!(answers, Contradiction::Answers { answers: 1001, answers_max: 1000 });
        assert!(matches!(refused(Record { min_ns: 40_000, ..RECORD }), Contradiction::Order { .. }));
        assert!(matches!(refused(Record { sum_ns: 1, ..RECORD }), Contradiction::Sum { .. }));
        assert!(matches!(refused(Record { sum_ns: u64::MAX, ..RECORD }), Contradiction::Sum { .. }));
        // What another server says first, as a line of text.
        assert!(decoded(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", 200, 24).1.is_err());
    }

    fn records() -> impl Strategy<Value = Record> {
        (1_u32..=1000, any::<u32>(), any::<u32>(), any::<u32>(), 0.0..=1.0).prop_map(
            |(answers, a, b, overruns, share)| {
                let (min_ns, max_ns) = (a.min(b), a.max(b));
                let (least, most) = (u64::from(answers) * u64::from(min_ns), u64::from(answers) * u64::from(max_ns));
                Record { sum_ns: least + ((most - least) as f64 * share) as u64, min_ns, max_ns, overruns, answers }
            },
        )
    }

    proptest! {
        #[test]
        fn a_stream_of_a_board_is_read_in_any_pieces(
            sent in prop::collection::vec(records(), 0..9),
            cells in prop::collection::vec(any::<u32>(), 0..50),
            piece in 1_usize..99,
        ) {
            let mut bytes: Vec<u8> = sent.iter().flat_map(Record::bytes).collect();
            bytes.extend(EMPTY.bytes());
            bytes.extend(cells.iter().flat_map(|cell| cell.to_be_bytes()));
            let (parts, outcome) = decoded(&bytes, cells.len() as u32, piece);
            prop_assert_eq!(outcome, Ok(true));
            let read: Vec<Record> =
                parts.iter().filter_map(|part| if let Part::Record(record) = part { Some(*record) } else { None }).collect();
            prop_assert_eq!(read, sent);
            let last = parts.last().cloned();
            prop_assert!(cells.is_empty() || last == Some(Part::Cells(cells)));
        }

        #[test]
        fn any_bytes_are_parts_or_a_contradiction(bytes: Vec<u8>, cells: u32, piece in 1_usize..99) {
            let whole = decoded(&bytes, cells, bytes.len());
            let pieces = decoded(&bytes, cells, piece);
            prop_assert_eq!(&whole.0, &pieces.0);
            prop_assert_eq!(whole.1.is_err(), pieces.1.is_err());
            prop_assert!(whole.0.len() <= bytes.len() / CELL_BYTES + 1);
        }
    }
}
