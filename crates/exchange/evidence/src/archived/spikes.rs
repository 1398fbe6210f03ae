//! The wake-ups that were kept, each with its part of the trace.

use crate::cut::{Cut, OffsetsAt, Stretch, cut};
use crate::find::Found;
use crate::kept::Kept;
use crate::survey::Survey;
use archive::sample::Sample;
use archive::settings::SnapshotMode;
use archive::spike::{Snapshot, Spike, SpikeReason};
use archive::watched::WatchedKind;
use ftrace::trace_dat::PagedTrace;

/// Bytes of traces after which no more spikes are kept.
const TRACE_BYTES_MAX: usize = 24 << 20;
/// A trace that would be larger begins later. What lies between the instant that a thread asked for and its switch stays whole.
const LEAD_BYTES_MAX: u64 = 4 << 20;

/// The spikes with their traces, and how uncertain their times are. The largest get their trace first.
pub fn spikes(file: &PagedTrace<'_>, survey: &Survey, found: &Found) -> (Vec<(Spike, Vec<u8>)>, i64) {
    let mut ranked: Vec<(u32, &(Kept, SpikeReason))> = (1..).zip(&found.kept).collect();
    ranked.sort_by_key(|(_, (kept, _))| std::cmp::Reverse(kept.counted.sample.latency_ns));
    let mut spikes = Vec::new();
    let (mut largest_ns, mut bytes) = (0, 0);
    for (number, (kept, reason)) in ranked {
        if bytes > TRACE_BYTES_MAX {
            break;
        }
        let offsets = OffsetsAt::new(survey, kept.raw_seen_ns);
        let period_ns = period_ns(found, kept.counted.thread);
        let sample = in_cut(kept, &offsets);
        let stretch = Stretch::around(sample.due_ns, sample.seen_ns(), period_ns);
        let stretch = stretch.fitting(file, &offsets, sample.due_ns, LEAD_BYTES_MAX);
        let cut = cut(file, survey, stretch, &offsets, sample.cpu);
        largest_ns = largest_ns.max(cut.spread_ns);
        bytes += cut.trace.len();
        spikes.push((spike(number, kept, sample, *reason, &cut), cut.trace));
    }
    spikes.sort_by_key(|(spike, _)| spike.number);
    (spikes, largest_ns)
}

/// The sample by the offsets of its cut: they are constant there, and may differ a little from those nearby.
fn in_cut(kept: &Kept, offsets: &OffsetsAt) -> Sample {
    let sample = kept.counted.sample;
    let seen_ns = kept.raw_seen_ns.saturating_add(offsets.ns(sample.cpu));
    let due_ns = match kept.finished.kind {
        WatchedKind::Timer => sample.due_ns,
        WatchedKind::Woken | WatchedKind::Cycle => seen_ns.saturating_sub(sample.latency_ns),
    };
    Sample { due_ns, latency_ns: seen_ns.saturating_sub(due_ns), ..sample }
}

fn spike(number: u32, kept: &Kept, sample: Sample, reason: SpikeReason, cut: &Cut) -> Spike {
    let newest_ns = cut.coverage.iter().filter_map(|of| of.newest_ns).max().unwrap_or_default();
    let covered = cut.coverage.iter().find(|of| of.cpu == sample.cpu);
    let snapshot = Snapshot {
        mode: SnapshotMode::Auto,
        frozen_ns: newest_ns,
        swap_ns: 0,
        blind_ns: 0,
        coverage: cut.coverage.clone(),
        window_covered: covered.is_some_and(|of| of.oldest_ns <= Some(sample.due_ns)),
        trace_bytes: cut.trace.len() as u64,
        steal_ns: None,
        put_aside_ns: None,
    };
    Spike {
        previous_seen_ns: kept.finished.previous_seen_ns,
        snapshot: Some(snapshot),
        watched: Some(kept.finished.kind),
        ..Spike::new(number, kept.counted.thread, kept.finished.tid, sample, reason)
    }
}

/// How often the thread of a series wakes, on average.
fn period_ns(found: &Found, series: u32) -> i64 {
    let cycles = found.followed.series.get(series as usize).map_or(1, |series| series.totals().cycles.max(1));
    found.span.1.saturating_sub(found.span.0).max(0) / i64::try_from(cycles).unwrap_or(i64::MAX)
}
