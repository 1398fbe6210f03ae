//! Time in blocks, each good or bad. Late wake-ups come in bursts and are not independent events, so a minute with any
//! number of them is one bad block.

use archive::sample::Second;
pub use claims::verdict::Blocks;

/// Longest block, in seconds.
pub const BLOCK_S_DEFAULT: u32 = 60;

/// Longer measurements are rejected: more than a year.
pub const SECONDS_MAX: usize = 40_000_000;

/// State of one second of one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecondState {
    Good,
    /// The second has no record, or its latencies are rounded so that it may be bad.
    Unknown,
    Bad,
}

/// The seconds of one thread in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seconds {
    pub states: Vec<SecondState>,
}

impl Seconds {
    /// `count` seconds; records of later ones count as part of the last. With `gaps_are_normal` (intervals longer than
    /// a second) a second without a record is good.
    pub fn of(
        records: impl IntoIterator<Item = Second>,
        length: usize,
        gaps_are_normal: bool,
        state: impl Fn(&Second) -> SecondState,
    ) -> Self {
        let mut states: Vec<Option<SecondState>> = vec![None; length];
        for record in records {
            let Some(last) = states.len().checked_sub(1) else { break };
            let kept = &mut states[(record.second as usize).min(last)];
            *kept = (*kept).max(Some(state(&record)));
        }
        let absent = if gaps_are_normal { SecondState::Good } else { SecondState::Unknown };
        Self { states: states.into_iter().map(|state| state.unwrap_or(absent)).collect() }
    }

    /// Joins seconds into blocks of `block_s` seconds; the remainder joins the last block.
    pub fn blocks(&self, block_s: u32) -> Blocks {
        let size = (block_s.max(1) as usize).min(self.states.len().max(1));
        let count = self.states.len() / size;
        let worst = |number: usize| {
            let end = if number + 1 == count { self.states.len() } else { (number + 1) * size };
            self.states[number * size..end].iter().copied().max().unwrap_or(SecondState::Good)
        };
        let states: Vec<SecondState> = (0..count).map(worst).collect();
        let number_of = |state| states.iter().filter(|other| **other == state).count() as u64;
        Blocks {
            block_s: size as u32,
            count: states.len() as u64,
            bad: number_of(SecondState::Bad),
            unknown: number_of(SecondState::Unknown),
        }
    }

    pub fn hours(&self) -> f64 {
        self.states.len() as f64 / 3600.0
    }
}

/// Autocorrelation of a series at a lag; `None` if the series is constant or not longer than the lag.
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
    use super::SecondState::*;
    use super::*;
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

    fn late(record: &Second) -> SecondState {
        if record.latency_ns_max > 100 { Bad } else { Good }
    }

    #[test]
    fn a_block_is_bad_when_a_second_of_it_is() {
        // The half second at the end belongs to the sixth.
        let seconds = Seconds::of(records(&[1, 200, 1, 1, 1, 1, 300]), 6, false, late);
        assert_eq!(seconds.states, [Good, Bad, Good, Good, Good, Bad]);
        let blocks = seconds.blocks(2);
        assert_eq!((blocks.count, blocks.bad, blocks.unknown, blocks.block_s), (3, 2, 0, 2));
        assert_eq!(seconds.blocks(100).count, 1);
        assert_eq!(seconds.blocks(4).count, 1, "what is left over joins the last block");
    }

    #[test]
    fn a_missing_record_is_neither_good_nor_bad() {
        let mut some = records(&[1, 1, 1, 1]);
        some.remove(1);
        let blocks = Seconds::of(some.clone(), 4, false, late).blocks(1);
        assert_eq!((blocks.count, blocks.bad, blocks.unknown), (4, 0, 1));
        assert_eq!(Seconds::of(some.clone(), 4, true, late).blocks(1).unknown, 0);
        let late_end = Seconds::of(some, 6, false, late).blocks(1);
        assert_eq!((late_end.count, late_end.unknown), (6, 3), "seconds after the last record");
        assert_eq!(Seconds::of([], 4, false, late).blocks(1).bad, 0);
        assert_eq!(Seconds::of([], 0, false, late).blocks(60).count, 0);
    }

    proptest! {
        #[test]
        fn any_records_make_blocks(
            records in proptest::collection::vec((0u32..=u32::MAX, any::<i64>()), 0..4),
            length in 0usize..1000,
            block_s in 0u32..100,
        ) {
            let records: Vec<Second> = records.iter().map(|(second, latency_ns_max)| {
                Second { second: *second, latency_ns_max: *latency_ns_max, ..Second::default() }
            }).collect();
            let blocks = Seconds::of(records, length, false, late).blocks(block_s);
            prop_assert!(blocks.bad + blocks.unknown <= blocks.count);
        }
    }
}
