//! Records of seconds in a few bytes each: a week on 64 CPUs has 39 million of them.
//!
//! A record is stored as its difference from the one before. A sealed part can be read without the others and is shared
//! by copies.

use crate::leb128;
use crate::sample::Second;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// Bytes after which a part is sealed.
const PART_BYTES: usize = 32 << 10;

// What differs from the record before; each is followed by its value.
const THREAD: u8 = 1;
const SECOND: u8 = 1 << 1;
const CYCLES: u8 = 1 << 2;
const OVER_LIMIT: u8 = 1 << 3;
const MISSED_PERIODS: u8 = 1 << 4;

/// Records of seconds, in the order in which they were added. An ordinary one takes 4 bytes.
#[derive(Clone, Default)]
pub struct SecondRecords {
    sealed: Vec<Arc<[u8]>>,
    open: Vec<u8>,
    last: Second,
    len: usize,
}

impl SecondRecords {
    pub fn push(&mut self, second: Second) {
        if self.open.len() >= PART_BYTES {
            self.seal();
        }
        let mut flags = 0;
        let expected = following(&self.last);
        let fields = [
            (THREAD, second.thread, expected.thread),
            (SECOND, second.second, expected.second),
            (CYCLES, second.cycles, expected.cycles),
            (OVER_LIMIT, second.over_limit, expected.over_limit),
            (MISSED_PERIODS, second.missed_periods, expected.missed_periods),
        ];
        let at = self.open.len();
        self.open.push(flags);
        for (flag, value, expected) in fields {
            if value != expected {
                flags |= flag;
                leb128::put(&mut self.open, value.into());
            }
        }
        self.open[at] = flags;
        leb128::put(&mut self.open, zigzag(second.latency_ns_max));
        self.last = second;
        self.len += 1;
    }

    /// Adds the records of another list without reading them.
    pub fn append(&mut self, other: &Self) {
        self.seal();
        self.sealed.extend(other.sealed.iter().cloned());
        self.open.extend_from_slice(&other.open);
        self.last = other.last;
        self.len += other.len;
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn iter(&self) -> Iter<'_> {
        let mut parts = Vec::with_capacity(self.sealed.len() + 1);
        parts.push(&self.open[..]);
        parts.extend(self.sealed.iter().rev().map(|part| &part[..]));
        Iter { parts, bytes: &[], last: Second::default(), left: self.len }
    }

    /// The records in hexadecimal digits: one part, in the form that [`Self::iter`] reads.
    fn digits(&self) -> String {
        debug_assert!(self.sealed.is_empty(), "{} records", self.len);
        self.open.iter().fold(String::new(), |mut digits, byte| {
            digits.extend([byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap_or('0')));
            digits
        })
    }

    fn seal(&mut self) {
        if !self.open.is_empty() {
            self.sealed.push(Arc::from(&self.open[..]));
            self.open.clear();
        }
        self.last = Second::default();
    }
}

/// The record that takes no field: the next second of the same thread, with as many cycles, in time.
fn following(last: &Second) -> Second {
    Second { second: last.second.wrapping_add(1), over_limit: 0, missed_periods: 0, ..*last }
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn of_zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Reads [`SecondRecords`] in their order.
#[derive(Debug, Clone)]
pub struct Iter<'a> {
    /// Parts to be read, the next one last.
    parts: Vec<&'a [u8]>,
    bytes: &'a [u8],
    last: Second,
    left: usize,
}

impl Iterator for Iter<'_> {
    type Item = Second;

    fn next(&mut self) -> Option<Second> {
        while self.bytes.is_empty() {
            self.bytes = self.parts.pop()?;
            self.last = Second::default();
        }
        let (flags, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        let mut second = following(&self.last);
        let fields = [
            (THREAD, &mut second.thread),
            (SECOND, &mut second.second),
            (CYCLES, &mut second.cycles),
            (OVER_LIMIT, &mut second.over_limit),
            (MISSED_PERIODS, &mut second.missed_periods),
        ];
        for (flag, field) in fields {
            if flags & flag != 0 {
                *field = leb128::take(&mut self.bytes)? as u32;
            }
        }
        second.latency_ns_max = of_zigzag(leb128::take(&mut self.bytes)?);
        self.last = second;
        self.left -= 1;
        Some(second)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl<'a> IntoIterator for &'a SecondRecords {
    type Item = Second;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl Extend<Second> for SecondRecords {
    fn extend<I: IntoIterator<Item = Second>>(&mut self, seconds: I) {
        seconds.into_iter().for_each(|second| self.push(second));
    }
}

impl FromIterator<Second> for SecondRecords {
    fn from_iter<I: IntoIterator<Item = Second>>(seconds: I) -> Self {
        let mut records = Self::default();
        records.extend(seconds);
        records
    }
}

impl From<Vec<Second>> for SecondRecords {
    fn from(seconds: Vec<Second>) -> Self {
        seconds.into_iter().collect()
    }
}

impl PartialEq for SecondRecords {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl fmt::Debug for SecondRecords {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.iter()).finish()
    }
}

/// Records of a long run as one text, a tenth as long as a list of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PackedSeconds {
    pub count: u32,
    /// Two hexadecimal digits for each byte; at most [`PACKED_MAX`] records.
    pub records: String,
}

/// Most records in one text: fewer than the smallest number that fills a part.
pub const PACKED_MAX: usize = 800;

impl PackedSeconds {
    /// The text of these records, of which there are at most [`PACKED_MAX`].
    pub fn of(records: &SecondRecords) -> Self {
        Self { count: u32::try_from(records.len()).unwrap_or(u32::MAX), records: records.digits() }
    }

    /// The records; fewer than their count if the text is damaged.
    pub fn unpacked(&self) -> SecondRecords {
        let digit = |letter: u8| char::from(letter).to_digit(16).map(|digit| digit as u8);
        let byte = |pair: &[u8]| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?);
        let open: Vec<u8> = self.records.as_bytes().chunks(2).map_while(byte).collect();
        let len = (self.count as usize).min(PACKED_MAX);
        let written = SecondRecords { open, len, ..SecondRecords::default() };
        written.iter().take(len).collect()
    }
}

impl Serialize for SecondRecords {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for SecondRecords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::deserialize(deserializer)?.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_second() -> impl Strategy<Value = Second> {
        let count = || prop_oneof![4 => Just(0u32), 1 => any::<u32>()];
        (count(), any::<u32>(), count(), any::<i64>(), count(), count()).prop_map(
            |(thread, second, cycles, latency_ns_max, over_limit, missed_periods)| Second {
                thread,
                second,
                cycles,
                latency_ns_max,
                over_limit,
                missed_periods,
            },
        )
    }

    proptest! {
        #[test]
        fn records_are_read_as_they_were_added(
            one in prop::collection::vec(any_second(), 0..50),
            other in prop::collection::vec(any_second(), 0..50),
        ) {
            let (mut records, others) = (SecondRecords::from(one.clone()), SecondRecords::from(other.clone()));
            records.append(&others);
            records.push(Second::default());
            let expected: Vec<Second> = one.into_iter().chain(other).chain([Second::default()]).collect();
            prop_assert_eq!(records.len(), expected.len());
            prop_assert_eq!(records.iter().collect::<Vec<_>>(), expected);
        }
    }

    proptest! {
        #[test]
        fn packed_records_are_read_as_they_were_added(all in prop::collection::vec(any_second(), 0..PACKED_MAX)) {
            let packed = PackedSeconds::of(&all.clone().into());
            prop_assert_eq!(packed.unpacked().iter().collect::<Vec<_>>(), all);
        }

        #[test]
        fn any_text_is_some_records(count: u32, records in "[0-9a-fx]{0,200}") {
            let found = PackedSeconds { count, records }.unpacked();
            prop_assert!(found.len() <= count as usize && found.len() <= 100);
        }
    }

    #[test]
    fn packed_records_are_short() {
        let ordinary = |second: u32| Second {
            thread: second % 3,
            second: second / 3,
            cycles: 1000,
            latency_ns_max: 20_000,
            ..Second::default()
        };
        let all: SecondRecords = (0..300).map(ordinary).collect();
        let packed = serde_json::to_string(&PackedSeconds::of(&all)).unwrap().len();
        let listed = serde_json::to_string(&all).unwrap().len();
        assert!(packed * 5 < listed, "{packed} of {listed}");
    }

    #[test]
    fn an_ordinary_record_takes_four_bytes() {
        let ordinary =
            |second| Second { second, cycles: 1000, latency_ns_max: 20_000 + i64::from(second), ..Second::default() };
        let records: SecondRecords = (0..100_000).map(ordinary).collect();
        let bytes = records.open.len() + records.sealed.iter().map(|part| part.len()).sum::<usize>();
        assert!(bytes < 401_000 && records.sealed.len() > 10, "{bytes}");
        assert!(records.iter().eq((0..100_000).map(ordinary)));
        let text = serde_json::to_string(&records).unwrap();
        assert_eq!(serde_json::from_str::<SecondRecords>(&text).unwrap(), records);
    }
}
