//! The lines of `cyclictest -v`: thread, cycle and latency of every sample.

use super::cyclictest_lines::ThreadLine;
use super::source::SourceThread;
use std::collections::BTreeMap;

/// The tool pads each number to this width, unlike a time of day.
const WIDTH: usize = 8;

/// Thread, cycle and latency of a sample; `None` if the line is none.
pub fn sample(line: &str) -> Option<(u32, u64, i64)> {
    let mut fields = line.trim_end().split(':').filter(|field| field.len() >= WIDTH).map(str::trim_start);
    let found = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    (line.matches(':').count() == 2).then_some(found)
}

/// Samples of one thread.
#[derive(Debug, Default)]
struct Tally {
    buckets: BTreeMap<u64, u64>,
    count: u64,
    min: Option<i64>,
    max: Option<i64>,
}

impl Tally {
    fn add(&mut self, latency: i64) {
        self.count += 1;
        self.min = Some(self.min.map_or(latency, |min| min.min(latency)));
        self.max = Some(self.max.map_or(latency, |max| max.max(latency)));
        if let Ok(low) = u64::try_from(latency) {
            *self.buckets.entry(low).or_default() += 1;
        }
    }

    /// The thread; its `T:` line also counts samples that were overwritten before they were printed.
    fn thread(self, line: Option<&ThreadLine>) -> SourceThread {
        let wider = |own: Option<i64>, of_line: Option<i128>, choose: fn(i128, i128) -> i128| {
            own.map(i128::from).into_iter().chain(of_line).reduce(choose)
        };
        SourceThread {
            cycles: Some(line.map_or(self.count, |line| line.cycles.max(self.count))),
            min: wider(self.min, line.map(|line| line.min), i128::min),
            max: wider(self.max, line.map(|line| line.max), i128::max),
            buckets: self.buckets,
            beyond_detail: "cyclictest counted them and did not print them".into(),
            ..SourceThread::default()
        }
    }
}

/// The threads of a run with the samples that were printed; empty without samples. The number of the first missing
/// thread if there is a gap.
pub fn threads(text: &str, lines: &BTreeMap<u32, ThreadLine>) -> Result<Vec<SourceThread>, usize> {
    let mut tallies: BTreeMap<u32, Tally> = BTreeMap::new();
    for (thread, _, latency) in text.lines().filter_map(sample) {
        tallies.entry(thread).or_default().add(latency);
    }
    let held = tallies.len();
    if tallies.keys().copied().ne(0..held as u32) {
        return Err(held);
    }
    Ok(tallies.into_iter().map(|(thread, tally)| tally.thread(lines.get(&thread))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_day_is_not_a_sample() {
        assert_eq!(sample("       1:      12:     109"), Some((1, 12, 109)));
        for line in
            ["12:34:56", "       1:      12", "       1:      12:     109:       4", "       x:      12:     109"]
        {
            assert_eq!(sample(line), None, "{line}");
        }
    }

    #[test]
    fn every_printed_sample_is_in_the_histogram() {
        let text = "       0:       0:     109\n       1:       0:      93\n       0:       1:      86\n       0:       2:      86\n";
        let threads = threads(text, &BTreeMap::new()).unwrap();
        assert_eq!(threads[0].buckets, BTreeMap::from([(86, 2), (109, 1)]));
        assert_eq!(
            (threads[0].min, threads[0].max, threads[0].cycles, threads[1].cycles),
            (Some(86), Some(109), Some(3), Some(1))
        );
    }
}
