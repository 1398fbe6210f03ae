//! An import without the time of any wake-up: if its largest latency meets the limit, each second of it does.

use crate::blocks::SECONDS_MAX;
use crate::readings::Readings;
use crate::refusal::Refusal;
use archive::reader::ThreadRun;
use archive::sample::Second;
use archive::second_records::SecondRecords;
use archive::summary::RunSummary;
use claims::limit::Limit;

/// Tools note start and end in whole seconds and include their set-up: the measurement may be this much shorter.
const SET_UP_S: usize = 2;

/// Seconds without a late wake-up; `None` where times are recorded, or a wake-up may have been late.
pub fn seconds(summary: &RunSummary, thread: &ThreadRun, latest_ns: i64) -> Option<SecondRecords> {
    let is_import = summary.imported.as_ref().is_some_and(|imported| !imported.maximum_truncated);
    let latency_ns_max = thread.totals.latency_ns_max?;
    if !is_import || !thread.seconds.is_empty() || Readings::of(summary).latest_ns(latency_ns_max) > latest_ns {
        return None;
    }
    let length = usize::try_from(summary.measured_ns? / 1_000_000_000).ok()?.checked_sub(SET_UP_S)?;
    let count = u32::try_from(length).ok().filter(|_| (1..=SECONDS_MAX).contains(&length))?;
    let cycles = u32::try_from(thread.totals.cycles / u64::from(count)).unwrap_or(u32::MAX);
    let second = |second| Second { thread: thread.thread, second, cycles, latency_ns_max, ..Second::default() };
    Some((0..count).map(second).collect())
}

/// Names what the import lacks, where records of seconds are missing.
pub fn refusal(summary: &RunSummary, thread: &ThreadRun, limit: &Limit, refusal: Refusal) -> Refusal {
    let (Refusal::NoSeconds, Some(imported)) = (&refusal, &summary.imported) else { return refusal };
    let latest_ns = limit.requirement.latest_ns().unwrap_or(0);
    let max_ns = thread.totals.latency_ns_max.map(|ns| Readings::of(summary).latest_ns(ns));
    let format = imported.format.clone();
    match max_ns {
        Some(max_ns) if max_ns <= latest_ns && !imported.maximum_truncated => match summary.measured_ns {
            Some(_) => Refusal::ImportTooShort,
            None => Refusal::ImportWithoutLength { format },
        },
        _ => Refusal::ImportWithoutTimes { format },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::manifest::ImportedFrom;
    use archive::reader::Run;
    use archive::sample::Totals;

    fn import(length_s: i64) -> RunSummary {
        let imported = ImportedFrom { resolution_ns: 1000, ..ImportedFrom::default() };
        let measured_ns = Some(length_s * 1_000_000_000);
        RunSummary { imported: Some(imported), measured_ns, ..RunSummary::of(&Run::default(), &[]) }
    }

    fn thread(latency_ns: i64) -> ThreadRun {
        let totals = Totals { cycles: 100_000, latency_ns_max: Some(latency_ns), ..Totals::default() };
        ThreadRun { totals, ..ThreadRun::default() }
    }

    #[test]
    fn a_rounded_maximum_below_the_limit_is_in_time_in_each_second() {
        assert_eq!(seconds(&import(102), &thread(18_000), 18_999).unwrap().len(), 100);
        assert_eq!(seconds(&import(102), &thread(18_000), 18_998), None);
        assert_eq!(seconds(&import(2), &thread(18_000), 20_000), None);
        assert_eq!(seconds(&import(i64::MAX / 1_000_000_000), &thread(18_000), 20_000), None);
    }

    #[test]
    fn a_maximum_that_may_be_larger_shows_nothing() {
        let mut summary = import(102);
        summary.imported.as_mut().unwrap().maximum_truncated = true;
        assert_eq!(seconds(&summary, &thread(18_000), 20_000), None);
    }
}
