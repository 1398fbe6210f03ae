//! How late the wake-ups of each second were against one latency: what is certain, and what is possible.
//!
//! A missed period is late until the wake-up that missed it; one that no wake-up explains may be late by any time. A
//! value that its source rounded is an interval. A second without a record may have been late throughout. Samples in the
//! histogram that no second's record accounts for may all have come at once.

use crate::blocks::SECONDS_MAX;
use crate::mean_share::Shares;
use crate::readings::Readings;
use crate::refusal::Refusal;
use archive::histogram::{Histogram, bucket_high_ns, bucket_low_ns};
use archive::lateness::{missed_later_than, missed_of_all_later_than};
use archive::reader::{Run, ThreadRun};
use archive::summary::RunSummary;

/// Seconds for each record of one: with an interval of a minute there is a record of each minute.
const SECONDS_PER_RECORD: usize = 64;
/// Seconds that a run may have with any number of records: more than a day.
const SECONDS_WITHOUT_RECORDS: usize = 100_000;

/// Counts over a stretch of time, against a latency.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Stretch {
    /// Periods that were due, missed ones included.
    periods: f64,
    /// Periods that were certainly late, missed ones included.
    late: f64,
    /// Periods of seconds without a record.
    unknown: f64,
    /// Whether more samples may be late than certainly are.
    suspect: bool,
}

/// A thread's wake-ups against a latency: certain and possible counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Lateness {
    seconds: Vec<Stretch>,
    /// Whether each second's record counts its late samples. Otherwise it only shows that there is at least one.
    pub counted: bool,
    pub periods: u64,
    /// Missed periods that were certainly late.
    pub late_missed: u64,
    /// Late periods, missed ones included: certainly, and at most.
    pub late: u64,
    pub late_most: u64,
    /// Seconds without a record.
    pub unknown_s: u64,
    /// Late samples that no second's record accounts for: certainly, and at most.
    unplaced: f64,
    unplaced_most: f64,
}

impl Lateness {
    /// # Errors
    /// If the archive has no record of each second, or one that is damaged.
    pub fn of(run: &Run, summary: &RunSummary, thread: &ThreadRun, latest_ns: i64) -> Result<Self, Refusal> {
        let length = length_s(thread, summary)?;
        let readings = Readings::of(summary);
        let counted_are_late = counted_are_late(run, latest_ns);
        let counted = counted_are_late && uncounted_are_in_time(run, latest_ns, readings);
        let period_ns = run.period_ns();
        let (missed_least, missed_most) =
            missed_of_all_later_than(latest_ns, &thread.histogram, &thread.totals, period_ns);
        let mut seconds = vec![Stretch::default(); length];
        let mut known = vec![gaps_are_normal(summary); length];
        let (mut placed, mut placed_missed, mut missed) = (0.0, 0u64, 0u64);
        for record in &thread.seconds {
            let at = (record.second as usize).min(length - 1);
            let largest = u32::from(record.latency_ns_max > latest_ns);
            let late = if counted_are_late { record.over_limit.max(largest) } else { largest };
            let of_largest =
                period_ns.map_or(0, |period_ns| missed_later_than(latest_ns, record.latency_ns_max, period_ns));
            let late_missed = of_largest.min(u64::from(record.missed_periods));
            let second = &mut seconds[at];
            second.periods += f64::from(record.cycles) + f64::from(record.missed_periods);
            second.late += f64::from(late) + late_missed as f64;
            second.suspect |= readings.latest_ns(record.latency_ns_max) > latest_ns;
            second.suspect |= record.missed_periods > 0 && missed_most > missed_least;
            known[at] = true;
            placed += f64::from(late);
            placed_missed = placed_missed.saturating_add(late_missed);
            missed = missed.saturating_add(u64::from(record.missed_periods));
        }
        let usual = usual_periods(&seconds);
        let unknown = known.iter().filter(|known| !**known).count() as u64;
        for (second, _) in seconds.iter_mut().zip(&known).filter(|(_, known)| !**known) {
            (second.periods, second.unknown) = (usual, usual);
        }
        let missed = missed.max(thread.totals.missed_periods);
        let (least, most) = late_of_thread(run, thread, latest_ns, readings);
        let late_missed = missed_least.max(placed_missed);
        Ok(Self {
            counted,
            periods: thread.totals.cycles.saturating_add(missed),
            late_missed,
            late: least.max(placed as u64).saturating_add(late_missed),
            late_most: most.max(placed as u64).saturating_add(missed_most.max(late_missed)),
            unknown_s: unknown,
            unplaced: (least as f64 - placed).max(0.0) + (late_missed - placed_missed) as f64,
            // Seconds without a record already count as late throughout.
            unplaced_most: ((most as f64 - placed).max(0.0) + missed_most.saturating_sub(placed_missed) as f64
                - unknown as f64 * usual)
                .max(0.0),
            seconds,
        })
    }

    pub fn length_s(&self) -> usize {
        self.seconds.len()
    }

    /// Certainly late periods of each second.
    pub fn late_of_seconds(&self) -> Vec<f64> {
        self.seconds.iter().map(|second| second.late).collect()
    }

    /// Length in seconds of the longest row of seconds with at least this share of late periods, as far as they are
    /// counted.
    pub fn longest_s(&self, share: f64) -> usize {
        let late = |second: &Stretch| self.counted && second.late > 0.0 && second.late >= share * second.periods;
        self.seconds
            .chunk_by(|one, other| late(one) == late(other))
            .filter(|row| late(&row[0]))
            .map(<[_]>::len)
            .max()
            .unwrap_or(0)
    }

    /// Shares of late periods in stretches of `stretch_s` seconds, as large as they may be. Samples without a second
    /// are put into as few stretches as can hold them: the worst case.
    pub fn shares_most(&self, stretch_s: usize) -> Shares {
        let mut stretches = self.stretches(stretch_s);
        stretches.iter_mut().for_each(|stretch| stretch.late += stretch.unknown);
        concentrate(&mut stretches, self.unplaced_most);
        shares(&stretches)
    }

    /// The same as small as they may be. Samples without a second are put into as few stretches as can hold them: this
    /// shows least.
    pub fn shares_least(&self, stretch_s: usize) -> Shares {
        let mut stretches = self.stretches(stretch_s);
        stretches.iter_mut().for_each(|stretch| stretch.suspect &= stretch.late > 0.0);
        concentrate(&mut stretches, self.unplaced);
        shares(&stretches)
    }

    /// Joins seconds into stretches of `stretch_s` seconds; the remainder joins the last stretch.
    fn stretches(&self, stretch_s: usize) -> Vec<Stretch> {
        let size = stretch_s.clamp(1, self.seconds.len().max(1));
        let count = self.seconds.len() / size;
        let end = |number: usize| if number + 1 == count { self.seconds.len() } else { (number + 1) * size };
        let joined = |number: usize| {
            self.seconds[number * size..end(number)].iter().fold(Stretch::default(), |sum, second| Stretch {
                periods: sum.periods + second.periods,
                late: sum.late + second.late,
                unknown: sum.unknown + second.unknown,
                suspect: sum.suspect | second.suspect,
            })
        };
        (0..count).map(joined).filter(|stretch| stretch.periods > 0.0).collect()
    }
}

/// Makes `samples` more samples of suspect stretches late, starting with the stretches that have most late samples.
fn concentrate(stretches: &mut [Stretch], mut samples: f64) {
    if samples <= 0.0 {
        return;
    }
    let mut order: Vec<usize> = (0..stretches.len()).collect();
    let share = |stretch: &Stretch| stretch.late / stretch.periods;
    order.sort_by(|one, other| {
        let (one, other) = (&stretches[*one], &stretches[*other]);
        other.suspect.cmp(&one.suspect).then(share(other).total_cmp(&share(one)))
    });
    for at in order {
        let room = (stretches[at].periods - stretches[at].late).clamp(0.0, samples);
        stretches[at].late += room;
        samples -= room;
        if samples <= 0.0 {
            return;
        }
    }
}

fn shares(stretches: &[Stretch]) -> Shares {
    let mut shares: Vec<f64> = stretches.iter().map(|stretch| (stretch.late / stretch.periods).min(1.0)).collect();
    shares.sort_by(f64::total_cmp);
    let alike = shares.chunk_by(|one, other| one == other);
    Shares { counts: alike.map(|part| (part[0], part.len() as f64)).collect() }
}

/// Seconds that the measurement lasted, or for which there are records.
///
/// # Errors
/// Without records, with more than a year of them, or if most seconds have none.
pub fn length_s(thread: &ThreadRun, summary: &RunSummary) -> Result<usize, Refusal> {
    let seen = thread.seconds.iter().map(|record| record.second as usize + 1).max().ok_or(Refusal::NoSeconds)?;
    let measured = summary.measured_ns.map(|ns| usize::try_from(ns / 1_000_000_000).unwrap_or(0).max(1));
    let length = measured.unwrap_or(seen);
    // Each second takes memory, and the length of a run is only a number in its archive.
    let recorded = thread.seconds.len().saturating_mul(SECONDS_PER_RECORD).saturating_add(SECONDS_WITHOUT_RECORDS);
    if length > SECONDS_MAX.min(recorded) { Err(Refusal::SecondsDamaged) } else { Ok(length) }
}

/// Whether wake-ups are so rare that a second may have none.
pub fn gaps_are_normal(summary: &RunSummary) -> bool {
    let interval_ns = summary.settings.as_ref().map(|settings| settings.interval_ns);
    interval_ns.is_some_and(|ns| ns.saturating_mul(3) / 2 >= 1_000_000_000)
}

/// Whether the number of missed periods is known. Other tools do not count them; none was missed if no wake-up was
/// later than half of the interval.
pub fn missed_are_known(summary: &RunSummary, thread: &ThreadRun) -> bool {
    if summary.imported.is_none() {
        return true;
    }
    let spacing_ns = summary.measured_ns.map(|ns| ns as f64 / thread.totals.cycles.max(1) as f64);
    let width_ns = Readings::of(summary).width_ns();
    let latest_ns = thread.totals.latency_ns_max.map(|ns| ns.saturating_add(width_ns) as f64);
    matches!((spacing_ns, latest_ns), (Some(spacing), Some(latest)) if latest <= 0.5 * spacing)
}

/// The latency over which the meter counted the samples of each second: the limit of the run.
fn counted_over_ns(run: &Run) -> Option<i64> {
    run.manifest.as_ref()?.settings.as_ref()?.limit_ns
}

/// Whether each sample that the meter counted was certainly later than `latest_ns`.
fn counted_are_late(run: &Run, latest_ns: i64) -> bool {
    counted_over_ns(run).is_some_and(|ns| ns >= latest_ns)
}

/// Whether each sample that the meter did not count was certainly no later than `latest_ns`.
fn uncounted_are_in_time(run: &Run, latest_ns: i64, readings: Readings) -> bool {
    counted_over_ns(run).is_some_and(|ns| readings.latest_ns(ns) <= latest_ns)
}

/// Samples of the whole run that were certainly later than `latest_ns`.
pub fn certainly_late(run: &Run, thread: &ThreadRun, latest_ns: i64, readings: Readings) -> u64 {
    let seconds = thread.seconds.iter().filter(|second| second.latency_ns_max > latest_ns).count() as u64;
    late_of_thread(run, thread, latest_ns, readings).0.max(seconds)
}

/// Samples of the whole run later than `latest_ns`: certainly, and at most.
pub fn late_of_thread(run: &Run, thread: &ThreadRun, latest_ns: i64, readings: Readings) -> (u64, u64) {
    let (least, most) = late_samples(thread, latest_ns, readings);
    let counted = thread.totals.over_limit;
    let least = if counted_are_late(run, latest_ns) { least.max(counted) } else { least };
    let most = if uncounted_are_in_time(run, latest_ns, readings) { most.min(counted) } else { most };
    (least, most.max(least))
}

/// Samples later than `latest_ns` in the histogram: certainly, and at most. Samples outside every bucket may be.
pub fn late_samples(thread: &ThreadRun, latest_ns: i64, readings: Readings) -> (u64, u64) {
    let Histogram { buckets } = &thread.histogram;
    let sum = |holds: &dyn Fn(usize) -> bool| {
        let counts = buckets.iter().filter(|(bucket, _)| holds(*bucket as usize)).map(|(_, count)| *count);
        counts.fold(0u64, u64::saturating_add)
    };
    let latest_of = |bucket: usize| {
        let high_ns = bucket_high_ns(bucket).min(thread.totals.latency_ns_max.unwrap_or(i64::MAX).max(0));
        readings.latest_within_ns(bucket_low_ns(bucket), high_ns)
    };
    let in_buckets = thread.histogram.total().saturating_add(thread.totals.clock_anomalies);
    let elsewhere = thread.totals.cycles.saturating_sub(in_buckets);
    (
        sum(&|bucket| bucket_low_ns(bucket) > latest_ns),
        sum(&|bucket| latest_of(bucket) > latest_ns).saturating_add(elsewhere),
    )
}

/// Typical number of periods in a second.
fn usual_periods(seconds: &[Stretch]) -> f64 {
    let mut periods: Vec<f64> = seconds.iter().map(|second| second.periods).filter(|periods| *periods > 0.0).collect();
    periods.sort_by(f64::total_cmp);
    periods.get(periods.len() / 2).copied().unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::histogram::bucket_of;
    use archive::manifest::{ImportedFrom, Manifest};
    use archive::sample::{Second, Totals};
    use archive::settings::RunSettings;
    use std::collections::BTreeMap;

    /// Seconds of 100 samples of 50 ns, except the third, which has two samples of 900 ns.
    fn thread() -> ThreadRun {
        let second = |second: u32| Second {
            second,
            cycles: 100,
            latency_ns_max: if second == 3 { 900 } else { 50 },
            ..Second::default()
        };
        let buckets = vec![(bucket_of(50).unwrap() as u32, 998), (bucket_of(900).unwrap() as u32, 2)];
        ThreadRun {
            totals: Totals { cycles: 1000, latency_ns_max: Some(900), ..Totals::default() },
            histogram: Histogram { buckets },
            seconds: (0..10).map(second).collect(),
            ..ThreadRun::default()
        }
    }

    fn lateness(thread: &ThreadRun, latest_ns: i64) -> Lateness {
        let run = Run { threads: BTreeMap::from([(0, thread.clone())]), ..Run::default() };
        let mut summary = RunSummary::of(&run, &[]);
        summary.measured_ns = Some(10_000_000_000);
        Lateness::of(&run, &summary, thread, latest_ns).unwrap()
    }

    #[test]
    fn the_histogram_counts_what_the_records_of_seconds_place() {
        let some = lateness(&thread(), 100);
        assert_eq!((some.counted, some.late, some.late_most, some.periods), (false, 2, 2, 1000));
        assert_eq!(some.shares_most(1).counts, [(0.0, 9.0), (0.02, 1.0)]);
        assert_eq!(some.shares_least(5).counts, [(0.0, 1.0), (0.004, 1.0)]);
        assert_eq!(lateness(&thread(), 900).shares_most(1).counts, [(0.0, 10.0)]);
    }

    #[test]
    fn a_missed_period_is_late_until_the_wake_up_that_missed_it() {
        let mut stalled = thread();
        let stalls = |second: Second| if second.second == 3 { Second { missed_periods: 8, ..second } } else { second };
        stalled.seconds = stalled.seconds.iter().map(stalls).collect();
        stalled.totals.missed_periods = 8;
        let run = |interval_ns| {
            let settings = RunSettings { interval_ns, ..RunSettings::default() };
            let manifest = Manifest { settings: Some(settings), ..Manifest::new("run", "1", "here") };
            Run { manifest: Some(manifest), threads: BTreeMap::from([(0, stalled.clone())]), ..Run::default() }
        };
        let lateness = |run: &Run, latest_ns| {
            let mut summary = RunSummary::of(run, &[]);
            summary.measured_ns = Some(10_000_000_000);
            Lateness::of(run, &summary, &stalled, latest_ns).unwrap()
        };
        let some = lateness(&run(200), 100);
        assert_eq!((some.late_missed, some.late, some.late_most), (6, 8, 8), "700, 500 and 300 ns twice");
        let some = lateness(&run(200), 400);
        assert_eq!((some.late_missed, some.late), (4, 6));
        assert_eq!(lateness(&run(200), 899).late_missed, 0);
        let unknown = lateness(&run(0), 899);
        assert_eq!((unknown.late_missed, unknown.late, unknown.late_most), (0, 2, 10));
    }

    #[test]
    fn a_second_without_a_record_may_have_been_late_throughout() {
        let mut gap = thread();
        gap.seconds = gap.seconds.iter().filter(|second| second.second != 7).collect();
        let some = lateness(&gap, 1000);
        assert_eq!((some.unknown_s, some.late), (1, 0));
        assert_eq!(some.shares_most(1).counts, [(0.0, 9.0), (1.0, 1.0)]);
        assert_eq!(some.shares_least(1).counts, [(0.0, 10.0)]);
    }

    #[test]
    fn rounded_values_are_intervals_and_samples_in_no_bucket_may_be_late() {
        let mut rounded = thread();
        rounded.totals.latency_ns_max = Some(99_000);
        rounded.histogram = Histogram { buckets: vec![(bucket_of(99_000).unwrap() as u32, 1000)] };
        let mut summary = RunSummary::of(&Run::default(), &[]);
        summary.imported = Some(ImportedFrom { resolution_ns: 1000, ..ImportedFrom::default() });
        let late = |thread: &ThreadRun, latest_ns| late_samples(thread, latest_ns, Readings::of(&summary));
        assert_eq!(late(&rounded, 99_000), (0, 1000), "99 µs may have been 99.9");
        assert_eq!((late(&rounded, 99_999), late(&rounded, 98_000)), ((0, 0), (1000, 1000)));
        rounded.totals.cycles = 1004;
        assert_eq!(late(&rounded, 99_999), (0, 4));
    }

    #[test]
    fn a_length_that_no_records_are_of_is_refused_and_costs_nothing() {
        let mut summary = RunSummary::of(&Run::default(), &[]);
        summary.measured_ns = Some(30_000_000 * 1_000_000_000);
        assert_eq!(length_s(&thread(), &summary), Err(Refusal::SecondsDamaged));
        summary.measured_ns = None;
        let mut far = thread();
        far.seconds.push(Second { second: 30_000_000, ..Second::default() });
        assert_eq!(length_s(&far, &summary), Err(Refusal::SecondsDamaged));
        assert_eq!(length_s(&thread(), &summary), Ok(10));
    }

    #[test]
    fn other_tools_missed_nothing_only_where_nothing_was_late_enough() {
        let mut summary = RunSummary::of(&Run::default(), &[]);
        summary.measured_ns = Some(1_000_000);
        assert!(missed_are_known(&summary, &thread()));
        summary.imported = Some(ImportedFrom::default());
        assert!(!missed_are_known(&summary, &thread()), "1000 wake-ups in a millisecond, and 900 ns late");
        summary.measured_ns = Some(10_000_000_000);
        assert!(missed_are_known(&summary, &thread()));
        summary.measured_ns = None;
        assert!(!missed_are_known(&summary, &thread()));
    }
}
