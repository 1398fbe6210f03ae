//! Limits the data block of a page: a picture has a few thousand columns, while a run of a week has 600 000 seconds per
//! CPU, and a machine with a hundred CPUs has many events around every spike.

use crate::accounts::Accounts;
use crate::problem::Omission;
use archive::counters;
use archive::explanation::Explanation;
use archive::problem::Remark;
use archive::sample::Second;
use archive::second_records::SecondRecords;
use archive::summary::ReportData;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Most points in time per thread.
const SECONDS_MAX: usize = 4000;

/// Most points in time of all threads together, about 100 bytes each; some are left to each thread.
const POINTS_MAX: usize = 100_000;
const POINTS_OF_THREAD_MIN: usize = 16;

/// Most readings of the kernel's counters, the number of columns in a picture.
const COUNTERS_MAX: usize = 900;

/// Most stretches over all pictures, about 90 bytes each.
const SEGMENTS_MAX: usize = 60_000;

/// The same data, small enough to draw. The figures in the tables do not come from it.
pub fn thinned<'a>(data: &'a ReportData, accounts: &Accounts) -> Cow<'a, ReportData> {
    let seconds = data.seconds.iter().map(|second| second.second as usize + 1).max().unwrap_or(0);
    let segments =
        data.summary.spikes.iter().filter_map(|entry| entry.explanation.as_ref()).map(segments).sum::<usize>();
    let counted = data.counters.len();
    let threads: BTreeSet<u32> = data.seconds.iter().map(|second| second.thread).collect();
    let seconds_max = (POINTS_MAX / threads.len().max(1)).clamp(POINTS_OF_THREAD_MIN, SECONDS_MAX);
    let has_all = accounts.has_all(&data.summary.spikes);
    if has_all && seconds <= seconds_max && segments <= SEGMENTS_MAX && counted <= COUNTERS_MAX {
        return Cow::Borrowed(data);
    }
    // Lists of millions are not copied first.
    let mut thinned = ReportData {
        summary: data.summary.clone(),
        histograms: data.histograms.clone(),
        seconds: match seconds > seconds_max {
            true => joined(&data.seconds, seconds.div_ceil(seconds_max) as u32),
            false => data.seconds.clone(),
        },
        counters: match counted > COUNTERS_MAX {
            true => counters::joined(&data.counters, counted.div_ceil(COUNTERS_MAX)),
            false => data.counters.clone(),
        },
        causes: data.causes.clone(),
    };
    thinned.summary.spikes.retain(|entry| accounts.has(entry.spike.number));
    leave_out_neighbours(&mut thinned);
    Cow::Owned(thinned)
}

/// Seconds joined into longer stretches: the largest latency, the sums of the counts, under the index of the first
/// second.
fn joined(seconds: &SecondRecords, stretch: u32) -> SecondRecords {
    let mut joined: BTreeMap<(u32, u32), Second> = BTreeMap::new();
    for second in seconds {
        let first = second.second / stretch * stretch;
        joined
            .entry((second.thread, first))
            .and_modify(|sum| {
                sum.cycles = sum.cycles.saturating_add(second.cycles);
                sum.latency_ns_max = sum.latency_ns_max.max(second.latency_ns_max);
                sum.over_limit = sum.over_limit.saturating_add(second.over_limit);
                sum.missed_periods = sum.missed_periods.saturating_add(second.missed_periods);
            })
            .or_insert(Second { second: first, ..second });
    }
    joined.into_values().collect()
}

fn segments(explanation: &Explanation) -> usize {
    explanation.lanes.iter().map(|lane| lane.segments.len()).sum()
}

/// Once the budget is used up, smaller spikes show the late CPU alone, and state so.
fn leave_out_neighbours(data: &mut ReportData) {
    let mut left = SEGMENTS_MAX;
    for entry in &mut data.summary.spikes {
        let Some(explanation) = &mut entry.explanation else { continue };
        let needed = segments(explanation);
        if needed <= left {
            left -= needed;
            continue;
        }
        let before = explanation.lanes.len();
        explanation.lanes.retain(|lane| lane.cpu == entry.spike.sample.cpu);
        let hidden = before - explanation.lanes.len();
        if hidden > 0 {
            explanation.caveats.push(Remark::new(&Omission::Cpus(hidden)).into());
        }
    }
}
