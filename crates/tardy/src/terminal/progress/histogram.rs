//! The histogram of a run in progress, as lines of a terminal: one row for each doubling of the latency, bars by the
//! logarithm of the count.

use archive::histogram::{Histogram, bucket_low_ns};
use std::collections::BTreeMap;
use words::figures::{count, latency};

const BAR_COLUMNS_MAX: usize = 60;
/// Narrower bars show nothing.
const BAR_COLUMNS_MIN: usize = 8;

/// Counts by the power of two that is the lower edge of their latency in ns; 0 and 1 ns share the lowest.
pub type Octaves = BTreeMap<u32, u64>;

/// The counts of one histogram.
pub fn octaves(histogram: &Histogram) -> Octaves {
    let mut by_octave = Octaves::new();
    for (bucket, samples) in &histogram.buckets {
        let octave = bucket_low_ns(*bucket as usize).max(1).ilog2();
        let sum = by_octave.entry(octave).or_default();
        *sum = sum.saturating_add(*samples);
    }
    by_octave
}

/// The counts of several histograms together.
pub fn sum<'a>(all: impl Iterator<Item = &'a Octaves>) -> Octaves {
    let mut summed = Octaves::new();
    for (octave, samples) in all.flatten() {
        let sum = summed.entry(*octave).or_default();
        *sum = sum.saturating_add(*samples);
    }
    summed
}

/// Lines for `columns` columns, at most `rows` of them; none without room or samples.
pub fn lines(by_octave: &Octaves, columns: usize, rows: usize, full: char) -> Vec<String> {
    let (Some(first), Some(last)) = (by_octave.keys().next(), by_octave.keys().next_back()) else { return Vec::new() };
    // Neighbouring doublings share a row where there are too many of them.
    let each = (*last - *first + 1).div_ceil(u32::try_from(rows.max(1)).unwrap_or(u32::MAX)).max(1);
    let row_of = |octave: u32| (octave - *first) / each;
    let mut counts = vec![0u64; row_of(*last) as usize + 1];
    for (octave, samples) in by_octave {
        let row = &mut counts[row_of(*octave) as usize];
        *row = row.saturating_add(*samples);
    }
    let labels: Vec<String> = (0..counts.len() as u32).map(|row| label(*first + row * each)).collect();
    let figures: Vec<String> = counts.iter().map(|samples| count(*samples)).collect();
    let widest = |texts: &[String]| texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
    let (label_columns, figure_columns) = (widest(&labels), widest(&figures));
    let room = columns.saturating_sub(2 + label_columns + 1 + 1 + figure_columns).min(BAR_COLUMNS_MAX);
    if rows < counts.len() || room < BAR_COLUMNS_MIN {
        return Vec::new();
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    let row = |((label, samples), figure): ((&String, &u64), &String)| {
        let bar = full.to_string().repeat(length(*samples, most, room));
        let gap = " ".repeat(label_columns - label.chars().count());
        format!("  {gap}{label} {bar} {figure}").trim_end().to_owned()
    };
    labels.iter().zip(&counts).zip(&figures).map(row).collect()
}

fn label(octave: u32) -> String {
    format!("from {}", latency(1i64 << octave.min(62)))
}

/// Length of a bar: 0 for no sample, at least 1 for one, `room` for the most.
fn length(samples: u64, most: u64, room: usize) -> usize {
    let height = |samples: u64| (samples as f64).ln() + 1.0;
    if samples == 0 { 0 } else { ((height(samples) / height(most) * room as f64) as usize).clamp(1, room) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::histogram::bucket_of;

    fn of(latencies: &[(i64, u64)]) -> Octaves {
        let bucket = |ns| bucket_of(ns).unwrap() as u32;
        let one = |(ns, samples): &(i64, u64)| octaves(&Histogram { buckets: vec![(bucket(*ns), *samples)] });
        sum(latencies.iter().map(one).collect::<Vec<_>>().iter())
    }

    #[test]
    fn a_row_for_each_doubling_and_bars_by_the_logarithm() {
        let histogram = of(&[(5_000, 1000), (9_000, 31), (40_000, 1)]);
        let shown = lines(&histogram, 41, 8, '█');
        let bars: Vec<usize> = shown.iter().map(|line| line.matches('█').count()).collect();
        assert_eq!(shown.len(), 4, "{shown:#?}");
        assert!(shown[0].starts_with("   from 4.1 µs █") && shown[0].ends_with("█ 1 000"), "{shown:#?}");
        assert!(shown[3].starts_with("  from 32.8 µs █") && shown[3].ends_with("█ 1"), "{shown:#?}");
        assert_eq!(bars, [20, 11, 0, 2], "{shown:#?}");
    }

    #[test]
    fn every_sample_is_counted_whatever_the_room() {
        let histogram = of(&[(0, 2), (1, 3), (700, 5), (3_000_000, 7), (90_000_000_000, 11)]);
        for (columns, rows) in [(50, 8), (80, 12), (180, 40), (30, 3)] {
            let shown = lines(&histogram, columns, rows, '#');
            assert!(!shown.is_empty() && shown.len() <= rows, "{shown:?}");
            assert!(shown.iter().all(|line| line.chars().count() <= columns), "{shown:?}");
            let counted: u64 = shown.iter().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum();
            assert_eq!(counted, 28, "{shown:?}");
        }
    }

    #[test]
    fn without_room_or_samples_there_is_nothing() {
        assert!(lines(&Octaves::new(), 80, 10, '#').is_empty());
        assert!(lines(&of(&[(1000, 1)]), 20, 10, '#').is_empty());
        assert!(lines(&of(&[(1000, 1)]), 80, 0, '#').is_empty());
    }
}
