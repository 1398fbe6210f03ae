//! Time in blocks, each good or bad. Late wake-ups come in bursts, so they are no independent events; minutes that held
//! one are, as long as a burst is much shorter than a block.

use archive::sample::Second;
use serde::{Deserialize, Serialize};

/// Blocks are no longer than this to begin with, in seconds.
pub const BLOCK_S_DEFAULT: u32 = 60;
/// Neighbouring blocks that resemble each other more than this are too short.
const AUTOCORRELATION_MAX: f64 = 0.1;
/// Fewer bad blocks say nothing about whether they come together.
const BAD_MIN: u64 = 3;
/// A block is never so long that fewer than this many are left because of resemblance.
const BLOCKS_MIN: usize = 20;

/// A longer measurement is not believed: more than a year.
pub const SECONDS_MAX: usize = 40_000_000;

/// What one second of one thread is known to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecondState {
    Good,
    Bad,
    /// Its record is missing.
    Unknown,
}

/// The seconds of one thread in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seconds {
    pub states: Vec<SecondState>,
}

impl Seconds {
    /// `None` for more than [`SECONDS_MAX`], which only a damaged archive claims.
    ///
    /// `measured_ns`: length of the measurement; what is left of a second at its end counts as part of the one before.
    /// With `gaps_are_normal` (intervals longer than a second) a second without record is good.
    pub fn of(
        records: &[Second],
        measured_ns: Option<i64>,
        gaps_are_normal: bool,
        is_bad: impl Fn(&Second) -> bool,
    ) -> Option<Self> {
        let seen = records.iter().map(|record| record.second as usize + 1).max().unwrap_or(0);
        let measured = measured_ns.map(|ns| usize::try_from(ns / 1_000_000_000).unwrap_or(0));
        let length = measured.map_or(seen, |measured| measured.max(seen.min(1)));
        if length > SECONDS_MAX {
            return None;
        }
        let absent = if gaps_are_normal { SecondState::Good } else { SecondState::Unknown };
        let mut states = vec![absent; length];
        for record in records {
            let Some(last) = states.len().checked_sub(1) else { break };
            let state = &mut states[(record.second as usize).min(last)];
            if is_bad(record) {
                *state = SecondState::Bad;
            } else if *state == SecondState::Unknown {
                *state = SecondState::Good;
            }
        }
        Some(Self { states })
    }

    /// Joins them into blocks of so many seconds; what is left over at the end joins the last one.
    pub fn blocks(&self, block_s: u32) -> Blocks {
        let size = (block_s.max(1) as usize).min(self.states.len().max(1));
        let count = self.states.len() / size;
        let mut blocks: Vec<SecondState> = Vec::with_capacity(count);
        for number in 0..count {
            let end = if number + 1 == count { self.states.len() } else { (number + 1) * size };
            let part = &self.states[number * size..end];
            blocks.push(if part.contains(&SecondState::Bad) {
                SecondState::Bad
            } else if part.contains(&SecondState::Unknown) {
                SecondState::Unknown
            } else {
                SecondState::Good
            });
        }
        Blocks::of(size as u32, &blocks)
    }

    /// Blocks as long as it takes for neighbours not to resemble each other, beginning with `block_s`.
    pub fn independent_blocks(&self, block_s: u32) -> Blocks {
        let mut blocks = self.blocks(block_s);
        while blocks.resemble() && self.states.len() / (2 * blocks.block_s as usize) >= BLOCKS_MIN {
            blocks = self.blocks(2 * blocks.block_s);
        }
        blocks
    }
}

/// Counts of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Blocks {
    /// Length of a block in seconds.
    pub block_s: u32,
    pub count: u64,
    pub bad: u64,
    /// Stretches of neighbouring bad blocks: what came in one burst counts once.
    pub events: u64,
    /// Blocks without bad second in which a second's record is missing.
    pub unknown: u64,
    /// Correlation of neighbouring blocks, -1 ..= 1; `None` where all are alike.
    pub autocorrelation: Option<f64>,
}

impl Blocks {
    fn of(block_s: u32, states: &[SecondState]) -> Self {
        let count = |state| states.iter().filter(|other| **other == state).count() as u64;
        let bad: Vec<f64> = states.iter().map(|state| f64::from(u8::from(*state == SecondState::Bad))).collect();
        let begins = |at: &usize| states[*at] == SecondState::Bad && (*at == 0 || states[*at - 1] != SecondState::Bad);
        Self {
            block_s,
            count: states.len() as u64,
            bad: count(SecondState::Bad),
            events: (0..states.len()).filter(begins).count() as u64,
            unknown: count(SecondState::Unknown),
            autocorrelation: autocorrelation(&bad, 1),
        }
    }

    /// Whether bad blocks come together: more than chance brings about.
    pub fn resemble(&self) -> bool {
        let chance = 2.0 / (self.count.max(1) as f64).sqrt();
        self.bad >= BAD_MIN && self.autocorrelation.is_some_and(|r| r > AUTOCORRELATION_MAX.max(chance))
    }

    pub fn hours(&self) -> f64 {
        self.count as f64 * f64::from(self.block_s) / 3600.0
    }
}

/// Autocorrelation of a series at a lag; `None` when the series is constant or not longer than the lag.
pub fn autocorrelation(series: &[f64], lag: usize) -> Option<f64> {
    let mean = series.iter().sum::<f64>() / series.len() as f64;
    let variance: f64 = series.iter().map(|value| (value - mean).powi(2)).sum();
    if series.len() <= lag || variance <= 0.0 {
        return None;
    }
    let products = series.iter().zip(&series[lag..]).map(|(one, other)| (one - mean) * (other - mean));
    Some(products.sum::<f64>() / variance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::Coin;
    use proptest::prelude::*;

    fn records(latencies_ns: &[i64]) -> Vec<Second> {
        let record = |(second, latency_ns_max): (usize, &i64)| Second {
            second: second as u32,
            cycles: 1000,
            latency_ns_max: *latency_ns_max,
            ..Second::default()
        };
        latencies_ns.iter().enumerate().map(record).collect()
    }

    fn late(record: &Second) -> bool {
        record.latency_ns_max > 100
    }

    #[test]
    fn a_block_is_bad_when_a_second_of_it_is() {
        let seconds = Seconds::of(&records(&[1, 200, 1, 1, 1, 1, 300]), Some(6_500_000_000), false, late).unwrap();
        // The half second at the end belongs to the sixth.
        assert_eq!(seconds.states.len(), 6);
        let blocks = seconds.blocks(2);
        assert_eq!((blocks.count, blocks.bad, blocks.unknown, blocks.block_s), (3, 2, 0, 2));
        assert_eq!(seconds.blocks(100).count, 1);
        assert_eq!(seconds.blocks(4).count, 1, "what is left over joins the last block");
    }

    #[test]
    fn a_missing_record_is_neither_good_nor_bad() {
        let mut some = records(&[1, 1, 1, 1]);
        some.remove(1);
        let blocks = Seconds::of(&some, Some(4_000_000_000), false, late).unwrap().blocks(1);
        assert_eq!((blocks.count, blocks.bad, blocks.unknown), (4, 0, 1));
        assert_eq!(Seconds::of(&some, Some(4_000_000_000), true, late).unwrap().blocks(1).unknown, 0);
        let late_end = Seconds::of(&some, Some(6_000_000_000), false, late).unwrap().blocks(1);
        assert_eq!((late_end.count, late_end.unknown), (6, 3), "seconds after the last record");
        assert_eq!(Seconds::of(&[], Some(4_000_000_000), false, late).unwrap().blocks(1).bad, 0);
        assert_eq!(Seconds::of(&[], None, false, late).unwrap().blocks(60).count, 0);
    }

    #[test]
    fn bursts_make_blocks_longer() {
        // Bursts of two minutes every twenty.
        let latencies: Vec<i64> = (0..20 * 3600).map(|second| if second % 1200 < 120 { 200 } else { 1 }).collect();
        let seconds = Seconds::of(&records(&latencies), None, false, late).unwrap();
        assert!(seconds.blocks(60).resemble());
        let blocks = seconds.independent_blocks(60);
        assert!(blocks.block_s == 120 && !blocks.resemble(), "{blocks:?}");
        assert_eq!((blocks.bad, blocks.events), (60, 60));
    }

    #[test]
    fn scattered_bad_blocks_stay_short() {
        let mut coin = Coin::new(9);
        let latencies: Vec<i64> = (0..7200).map(|_| if coin.unit() < 0.01 { 200 } else { 1 }).collect();
        let seconds = Seconds::of(&records(&latencies), None, false, late).unwrap();
        assert_eq!(seconds.independent_blocks(10).block_s, 10);
    }

    #[test]
    fn nobody_measures_for_a_century() {
        let mut record = records(&[1]);
        record[0].second = u32::MAX;
        assert_eq!(Seconds::of(&record, None, false, late), None);
    }

    proptest! {
        #[test]
        fn any_records_make_blocks(
            records in proptest::collection::vec((0u32..=u32::MAX, any::<i64>()), 0..4),
            measured_ns in proptest::option::of(any::<i64>()),
            block_s in 0u32..100,
        ) {
            let records: Vec<Second> = records.iter().map(|(second, latency_ns_max)| {
                Second { second: second % 100_000, latency_ns_max: *latency_ns_max, ..Second::default() }
            }).collect();
            let Some(seconds) = Seconds::of(&records, measured_ns.map(|ns| ns % 100_000_000_000_000), false, late) else {
                return Ok(());
            };
            let blocks = seconds.independent_blocks(block_s);
            prop_assert!(blocks.bad + blocks.unknown <= blocks.count);
        }
    }
}
