//! Keeps the data block of a page small: a picture has some thousand columns, a run of a week has 600 000 seconds a CPU.

use archive::sample::Second;
use archive::summary::ReportData;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Points in time kept per thread.
const SECONDS_MAX: usize = 4000;

/// The same data with seconds joined into longer stretches where there are too many: the largest latency, the sums of the
/// counts, under the index of the first second. Numbers in the tables do not come from here.
pub fn thinned(data: &ReportData) -> Cow<'_, ReportData> {
    let length = data.seconds.iter().map(|second| second.second as usize + 1).max().unwrap_or(0);
    if length <= SECONDS_MAX {
        return Cow::Borrowed(data);
    }
    let stretch = length.div_ceil(SECONDS_MAX) as u32;
    let mut joined: BTreeMap<(u32, u32), Second> = BTreeMap::new();
    for second in &data.seconds {
        let first = second.second / stretch * stretch;
        joined
            .entry((second.thread, first))
            .and_modify(|sum| {
                sum.cycles = sum.cycles.saturating_add(second.cycles);
                sum.latency_ns_max = sum.latency_ns_max.max(second.latency_ns_max);
                sum.over_limit = sum.over_limit.saturating_add(second.over_limit);
                sum.missed_periods = sum.missed_periods.saturating_add(second.missed_periods);
            })
            .or_insert(Second { second: first, ..*second });
    }
    let mut data = data.clone();
    data.seconds = joined.into_values().collect();
    Cow::Owned(data)
}
