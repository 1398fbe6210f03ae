//! Converts the data of a file to the totals and the histogram of an archive. What the file did not record becomes a
//! counted loss.

use super::problem::{Contradiction, ThreadProblem};
use super::source::{Source, SourceThread, Unit};
use archive::histogram::{Histogram, bucket_of};
use archive::message::{Loss, LossKind, Problem, Severity};
use archive::sample::Totals;
use std::collections::BTreeMap;

/// No wake-up is a hundred days late: such a value is a negative one that wrapped around.
const ABSURD_NS: i128 = 9_000_000_000_000_000;
/// If a tool writes its file while its threads run, counts may differ by this many wake-ups.
const RACE_CYCLES: u64 = 2;

/// One thread in the archive's form.
#[derive(Debug, Clone, PartialEq)]
pub struct Accounted {
    pub totals: Totals,
    pub histogram: Histogram,
    pub losses: Vec<Loss>,
    pub problems: Vec<Problem>,
}

/// Converts every thread of a source, in order.
pub fn threads(source: &Source) -> Vec<Accounted> {
    let last = source.threads.iter().filter_map(|thread| thread.buckets.keys().next_back()).max();
    // Every thread has the same buckets, so values beyond one thread's histogram are above every bucket of the others.
    let bound = last.map(|last| source.histogram_end.unwrap_or(0).max(last.saturating_add(1)));
    let account = |(number, thread)| Account { number, thread, unit: source.unit, bound }.close();
    source.threads.iter().enumerate().map(account).collect()
}

fn single(latency_ns: i64) -> Histogram {
    Histogram { buckets: bucket_of(latency_ns).map(|bucket| (bucket as u32, 1)).into_iter().collect() }
}

struct Account<'a> {
    number: usize,
    thread: &'a SourceThread,
    unit: Unit,
    bound: Option<u64>,
}

impl Account<'_> {
    fn close(&self) -> Accounted {
        let mut problems = Vec::new();
        let held = self.thread.buckets.values().fold(0u64, |sum, count| sum.saturating_add(*count));
        let cycles = self.cycles(held, &mut problems);
        let (min, max) = if cycles == 0 { (None, None) } else { (self.thread.min, self.thread.max) };
        let max = self.plausible_max(max, &mut problems);
        let min = min.filter(|min| min.saturating_mul(self.ns()).saturating_abs() < ABSURD_NS);
        if min.is_some_and(|min| min < 0) {
            problems.push(self.problem(Severity::Degraded, Contradiction::MinimumNegative));
        }
        let mut outside = cycles - held;
        let mut histogram = self.histogram();
        // The only value beyond the histogram is the maximum itself: nothing is lost.
        if let (1, Some(max), Some(bound)) = (outside, max, self.bound)
            && max >= i128::from(bound)
        {
            histogram.merge(&single((max * self.ns()) as i64));
            outside = 0;
        }
        let last = self.thread.buckets.keys().next_back();
        if let (0, Some(max), Some(last)) = (cycles - held, max, last)
            && max > i128::from(*last)
        {
            problems.push(self.problem(Severity::Degraded, Contradiction::MaximumInNoBucket { max }));
        }
        let totals = Totals {
            cycles,
            latency_ns_min: min.map(|min| (min * self.ns()) as i64),
            latency_ns_max: max.map(|max| (max * self.ns()) as i64),
            latency_ns_sum: self.sum_ns(cycles),
            worst: self.thread.worst.first().copied(),
            ..Totals::default()
        };
        Accounted { totals, histogram, losses: self.losses(outside, max), problems }
    }

    fn ns(&self) -> i128 {
        i128::from(self.unit.ns())
    }

    fn problem(&self, severity: Severity, contradiction: Contradiction) -> Problem {
        Problem::new(severity, &ThreadProblem { thread: self.number, contradiction })
    }

    fn cycles(&self, held: u64, problems: &mut Vec<Problem>) -> u64 {
        let at_least = held.saturating_add(self.thread.beyond.unwrap_or(0));
        let stated = self.thread.cycles.unwrap_or(at_least);
        if stated < at_least {
            let apart = at_least - stated;
            let severity = if apart <= RACE_CYCLES { Severity::Notice } else { Severity::Degraded };
            problems.push(self.problem(severity, Contradiction::CountsDiffer { stated, held: at_least }));
        }
        stated.max(at_least)
    }

    fn plausible_max(&self, max: Option<i128>, problems: &mut Vec<Problem>) -> Option<i128> {
        let max = max?;
        if max < 0 || max.saturating_mul(self.ns()) >= ABSURD_NS {
            problems.push(self.problem(Severity::Invalid, Contradiction::MaximumWrapped { max }));
            return None;
        }
        let last = self.thread.buckets.keys().next_back();
        if last.is_some_and(|last| i128::from(*last) > max) {
            problems.push(self.problem(Severity::Degraded, Contradiction::MaximumBelowBuckets { max }));
        }
        Some(max)
    }

    fn sum_ns(&self, cycles: u64) -> i64 {
        let sum = match self
            .thread
            .mean
            .filter(|mean| mean.value.is_finite() && mean.value.abs() * (self.ns() as f64) < ABSURD_NS as f64)
        {
            Some(mean) => (mean.value * self.unit.ns() as f64 * cycles as f64).round(),
            None => {
                self.thread.buckets.iter().map(|(low, count)| *low as f64 * *count as f64).sum::<f64>()
                    * self.ns() as f64
            }
        };
        sum as i64
    }

    /// Each value at the lower edge of its bucket in the source.
    fn histogram(&self) -> Histogram {
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        for (low, count) in &self.thread.buckets {
            let low_ns = i64::try_from(i128::from(*low) * self.ns()).unwrap_or(i64::MAX);
            let Some(bucket) = bucket_of(low_ns) else { continue };
            let slot = counts.entry(bucket as u32).or_default();
            *slot = slot.saturating_add(*count);
        }
        Histogram { buckets: counts.into_iter().collect() }.normalised()
    }

    fn losses(&self, outside: u64, max: Option<i128>) -> Vec<Loss> {
        if outside == 0 {
            return Vec::new();
        }
        let (number, symbol) = (self.number, self.unit.symbol());
        let inside = |bound: u64| max.is_some_and(|max| max < i128::from(bound));
        let (kind, detail) = match self.bound {
            None => {
                (LossKind::Values, format!("thread {number}: the source kept only their minimum, mean and maximum"))
            }
            Some(bound) if inside(bound) => {
                let why = match self.thread.beyond_detail.as_str() {
                    "" => "counted in no bucket, and the maximum says that none is beyond",
                    detail => detail,
                };
                (LossKind::Values, format!("thread {number}: {why}"))
            }
            Some(bound) => {
                let largest = max.map_or(String::new(), |max| format!(", the largest {max} {symbol}"));
                let detail = &self.thread.beyond_detail;
                let detail = if detail.is_empty() { String::new() } else { format!("; {detail}") };
                (LossKind::OverflowValues, format!("thread {number}: each at least {bound} {symbol}{largest}{detail}"))
            }
        };
        vec![Loss { kind, count: outside, detail }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imports::rt_tests_json::RtTestsJson;
    use crate::imports::source::Mean;

    fn account(cycles: u64, max: i128, end: Option<u64>) -> Accounted {
        let mut source = Source::new(&RtTestsJson, "cyclictest", Unit::Us);
        source.histogram_end = end;
        source.threads.push(SourceThread {
            buckets: BTreeMap::from([(3, 6), (29, 2)]),
            cycles: Some(cycles),
            min: Some(3),
            max: Some(max),
            mean: Some(Mean { value: 8.25, decimals: Some(2) }),
            ..SourceThread::default()
        });
        threads(&source).remove(0)
    }

    #[test]
    fn overflows_are_counted_with_what_is_known_of_them() {
        let account = account(10, 700, Some(100));
        assert_eq!(account.totals.latency_ns_sum, 82_500);
        assert_eq!(account.losses.len(), 1);
        assert_eq!((account.losses[0].kind.as_str(), account.losses[0].count), ("overflow values", 2));
        assert!(
            account.losses[0].detail.contains(" 100 µs,") && account.losses[0].detail.contains(" 700 µs"),
            "{:?}",
            account.losses
        );
        assert_eq!(account.histogram.total(), 8);
    }

    #[test]
    fn without_the_end_of_the_histogram_the_bound_is_its_last_bucket() {
        assert!(account(10, 700, None).losses[0].detail.contains("at least 30 µs"));
    }

    #[test]
    fn a_single_overflow_is_the_maximum_and_so_not_lost() {
        let account = account(9, 700, Some(100));
        assert!(account.losses.is_empty());
        assert_eq!(account.histogram.buckets.last(), Some(&(bucket_of(700_000).unwrap() as u32, 1)));
    }

    #[test]
    fn wake_ups_in_no_bucket_are_no_overflow_when_the_maximum_is_inside() {
        assert_eq!(account(9, 29, Some(100)).losses[0].kind, LossKind::Values);
    }

    #[test]
    fn a_wrapped_maximum_makes_the_run_invalid_instead_of_late() {
        for max in [-4982, 18_446_744_073_709_546_622] {
            let account = account(8, max, None);
            assert_eq!(account.totals.latency_ns_max, None);
            assert_eq!(account.problems[0].severity, Severity::Invalid);
        }
    }

    #[test]
    fn a_histogram_that_holds_more_than_was_counted_is_believed_and_reported() {
        let account = account(7, 29, None);
        assert_eq!((account.totals.cycles, account.problems[0].severity), (8, Severity::Notice));
        assert_eq!(self::account(2, 29, None).problems[0].severity, Severity::Degraded);
    }
}
