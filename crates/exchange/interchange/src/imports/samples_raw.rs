//! `samples.raw` of jitterdebugger: every sample with its time, 28 bytes each, without a header.
//!
//! Records are `u32 thread, i64 second, i64 nanosecond, u64 latency`, packed little-endian. The tool loses the last
//! samples when it stops; `results.json` only has their number.

use super::ReadSeek;
use super::lack::SamplesLack;
use super::problem::ImportProblem;
use super::source::{Source, SourceThread};
use archive::message::{Loss, LossKind, Severity};
use archive::sample::{Sample, Second};
use std::collections::BTreeMap;
use std::io::{self, BufReader};

const RECORD_BYTES: usize = 28;
/// Worst samples kept per thread.
const WORST_KEPT: usize = 100;
/// A longer run in seconds is rejected.
const SECONDS_MAX: i64 = 10 * 365 * 86_400;

/// Counts of one thread's samples.
#[derive(Debug, Clone, Default)]
struct Tally {
    buckets: BTreeMap<u64, u64>,
    count: u64,
    /// Number and maximum of the samples of each second, in ns.
    seconds: BTreeMap<u32, (u32, i64)>,
    worst: Vec<Sample>,
}

/// Replaces the histograms of a source by those of its samples, and adds their times. Samples that do not match the
/// source are reported as a problem and left out.
///
/// # Errors
/// If reading fails.
pub fn add(source: &mut Source, reader: &mut dyn ReadSeek) -> io::Result<()> {
    match tallies(source, reader)? {
        Ok((tallies, first_ns, last_ns)) => {
            let threads = source.threads.iter_mut().zip(tallies).enumerate();
            let losses: Vec<Loss> =
                threads.filter_map(|(number, (thread, tally))| take(number, thread, tally)).collect();
            source.losses.extend(losses);
            source.measured = Some((first_ns, last_ns));
            source.stated("every value and its time were read from samples.raw");
        }
        Err(why) => {
            source.problem(Severity::Degraded, &ImportProblem::SamplesLeftOut { why });
        }
    }
    Ok(())
}

type Tallies = Result<(Vec<Tally>, i64, i64), SamplesLack>;

/// Two passes: seconds count from the first due instant, which need not be in the first record.
fn tallies(source: &Source, reader: &mut dyn ReadSeek) -> io::Result<Tallies> {
    let mut span: Option<(i64, i64)> = None;
    let checked = each(source, reader, |_, due_ns, latency_ns| {
        let (first, last) = span.unwrap_or((due_ns, due_ns));
        span = Some((first.min(due_ns), last.max(due_ns + latency_ns)));
    })?;
    let (first, last) = match (checked, span) {
        (Err(why), _) => return Ok(Err(why)),
        (Ok(()), None) => return Ok(Err(SamplesLack::Empty)),
        (Ok(()), Some(span)) => span,
    };
    if (last - first) / 1_000_000_000 > SECONDS_MAX {
        return Ok(Err(SamplesLack::TimesApart));
    }
    let mut tallies = vec![Tally::default(); source.threads.len()];
    reader.rewind()?;
    let unit_ns = source.unit.ns();
    let checked = each(source, reader, |thread, due_ns, latency_ns| {
        tallies[thread as usize].add(Sample { cpu: thread, cycle: 0, due_ns, latency_ns }, first, unit_ns);
    })?;
    Ok(checked.map(|()| (tallies, first, last)))
}

/// Passes thread, due instant and latency of every record on; returns why a record is not a sample of the source's
/// threads.
fn each(
    source: &Source,
    reader: &mut dyn ReadSeek,
    mut take: impl FnMut(u32, i64, i64),
) -> io::Result<Result<(), SamplesLack>> {
    let mut reader = BufReader::with_capacity(1 << 20, reader);
    let mut record = [0; RECORD_BYTES];
    for number in 0u64.. {
        match fill(&mut reader, &mut record)? {
            0 => break,
            RECORD_BYTES => {}
            _ => return Ok(Err(SamplesLack::CutShort)),
        }
        match sample(&record) {
            Some((thread, seen_ns, value)) if (thread as usize) < source.threads.len() => {
                let latency_ns = value * source.unit.ns();
                take(thread, seen_ns - latency_ns, latency_ns);
            }
            _ => return Ok(Err(SamplesLack::NoSample { record: number })),
        }
    }
    Ok(Ok(()))
}

/// Reads a whole record unless the file ends; returns the number of bytes read.
fn fill(reader: &mut dyn ReadSeek, record: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < record.len() {
        match reader.read(&mut record[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

fn sample(record: &[u8; RECORD_BYTES]) -> Option<(u32, i64, i64)> {
    let word = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("eight bytes"));
    let thread = u32::from_le_bytes(record[..4].try_into().expect("four bytes"));
    let (second, nanosecond, value) = (word(4), word(12), word(20));
    // A latency of a day, or an instant after a century, shows another record layout.
    let sound = second < 3_200_000_000 && nanosecond < 1_000_000_000 && value < 86_400_000_000;
    sound.then(|| (thread, (second * 1_000_000_000 + nanosecond) as i64, value as i64))
}

impl Tally {
    fn add(&mut self, sample: Sample, first_ns: i64, unit_ns: i64) {
        *self.buckets.entry((sample.latency_ns / unit_ns) as u64).or_default() += 1;
        let second = self.seconds.entry(((sample.due_ns - first_ns) / 1_000_000_000) as u32).or_default();
        *second = (second.0.saturating_add(1), second.1.max(sample.latency_ns));
        let sample = Sample { cycle: self.count, ..sample };
        self.count += 1;
        let at = self.worst.partition_point(|kept| kept.latency_ns >= sample.latency_ns);
        if at < WORST_KEPT {
            self.worst.insert(at, sample);
            self.worst.truncate(WORST_KEPT);
        }
    }
}

/// Replaces the histogram by the samples; missing samples are counted as a loss.
fn take(number: usize, thread: &mut SourceThread, tally: Tally) -> Option<Loss> {
    let counted = thread.cycles.unwrap_or(0);
    let second = |(second, (cycles, latency_ns_max)): (u32, (u32, i64))| Second {
        thread: number as u32,
        second,
        cycles,
        latency_ns_max,
        ..Second::default()
    };
    thread.seconds = tally.seconds.into_iter().map(second).collect();
    thread.worst = tally.worst;
    thread.buckets = tally.buckets;
    thread.beyond_detail =
        "counted in results.json but not in samples.raw: the tool loses its last samples as it stops".into();
    (tally.count > counted).then(|| Loss {
        kind: LossKind::CountedWakeUps,
        count: tally.count - counted,
        detail: format!("thread {number}: samples.raw holds more samples than results.json counts"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imports::jitterdebugger::Jitterdebugger;
    use crate::imports::{Hints, ImportFormat};
    use std::io::Cursor;

    fn record(thread: u32, second: u64, nanosecond: u64, value: u64) -> Vec<u8> {
        let words = [second, nanosecond, value].map(u64::to_le_bytes).concat();
        [&thread.to_le_bytes()[..], &words].concat()
    }

    fn source() -> Source {
        let text = r#"{"cpu": {"0": {"histogram": {"3": 2}, "count": 4, "min": 3, "max": 1500, "avg": 400.00}}}"#;
        Jitterdebugger.read(text, &Hints::default()).unwrap().remove(0)
    }

    #[test]
    fn values_beyond_the_histogram_and_times_come_back() {
        let mut source = source();
        let bytes = [record(0, 10, 3_000, 3), record(0, 11, 500_001_500_000, 0)].concat();
        add(&mut source, &mut Cursor::new(bytes)).unwrap();
        assert!(source.problems.last().unwrap().text.contains("record 1 is not a sample"));
        let bytes = [record(0, 10, 3_000, 3), record(0, 10, 900_000_000, 3), record(0, 11, 1_501_000, 1500)].concat();
        let mut source = self::source();
        add(&mut source, &mut Cursor::new(bytes)).unwrap();
        assert_eq!(source.measured, Some((10_000_000_000, 11_001_501_000)));
        let thread = &source.threads[0];
        assert_eq!(thread.buckets, BTreeMap::from([(3, 2), (1500, 1)]));
        assert_eq!((thread.seconds.len(), thread.seconds[1].latency_ns_max), (2, 1_500_000));
        assert_eq!((thread.worst[0].due_ns, thread.worst[0].cycle), (11_000_001_000, 2));
    }

    #[test]
    fn a_torn_file_is_left_out_and_reported() {
        let mut source = source();
        add(&mut source, &mut Cursor::new(&record(0, 1, 2, 3)[..27])).unwrap();
        assert!(source.problems[0].text.contains("cut short"), "{:?}", source.problems);
        assert_eq!(source.threads[0].buckets, BTreeMap::from([(3, 2)]));
    }
}
