//! Follows the chosen threads through a recording.

use crate::clock::{BIN_NS, Clock};
use crate::kept::{Keeping, Kept};
use crate::request::{AtEnd, Choice, Request};
use crate::survey::Survey;
use archive::spike::SpikeReason;
use archive::watched::WatchedKind;
use ftrace::trace_dat::PagedTrace;
use std::collections::{BTreeMap, BTreeSet};
use wakeups::followed::Followed;
use wakeups::series::{Series, Terms};
use wakeups::thread_events::{EventReader, ThreadEvent, TimedEvent};
use wakeups::wakeups::{Finished, Wakeups};

const WORST_OF_SERIES: usize = 20;
/// Ordinary samples for comparison, from a series with at least this many.
const CONTROLS: usize = 3;
const CONTROL_SAMPLES_MIN: u64 = 100;

/// The wake-ups of the followed threads.
#[derive(Debug)]
pub struct Found {
    pub followed: Followed,
    pub choice: Choice,
    /// In order of time, with why each was kept.
    pub kept: Vec<(Kept, SpikeReason)>,
    /// First and last instant of the recording, CLOCK_MONOTONIC if it is known.
    pub span: (i64, i64),
    /// The wake-up or cycle that had not ended when the machine stopped.
    pub unfinished: bool,
    /// Whether events were left out because more claim the same instant than the memory holds.
    pub is_cut: bool,
}

/// Follows the threads of a request; `None` if the recording is empty.
pub fn find(file: &PagedTrace<'_>, survey: &Survey, request: &Request) -> Option<Found> {
    let (threads, choice) = request.choose(survey);
    let reader = EventReader::of_recording(&file.metadata.formats, file.layout());
    let mut converter = Converter { clock: &survey.clock, by_cpu: BTreeMap::new() };
    let first = survey.span()?;
    let cpu = *survey.cpus.keys().next()?;
    let instant = |ts_ns: i64| ts_ns.saturating_add(survey.clock.rough_ns(cpu, ts_ns));
    let span = (instant(first.0), instant(first.1));
    let mut followed = Followed::new(Wakeups::new(request.comm.clone(), survey.functions), terms(span.0));
    threads.iter().for_each(|tid| {
        let comm = survey.threads.get(tid).map_or("", |facts| &facts.comm);
        followed.wakeups.add(*tid, comm.as_bytes());
    });
    let end = request.at_end.as_ref();
    followed.wakeups.realtime_offset_ns = end.and_then(|end| end.realtime_offset_ns).unwrap_or(0);
    let mut last = Last::default();
    let mut keeping = Keeping::new(request.worst.max(1));
    let mut finished: Vec<Finished> = Vec::new();
    let mut is_cut = false;
    let wanted = reader.wanted(survey.with_descendants(&threads));
    for (from_ns, to_ns) in file.slices() {
        let window = file.window(from_ns, to_ns);
        is_cut |= window.is_cut;
        for item in window.merged_only(&wanted) {
            let Some(raw) = reader.event(&item) else { continue };
            let Some(event) = converter.event(&raw) else { continue };
            followed.wakeups.apply(&event, &mut finished);
            let is_switch = matches!(event.event, ThreadEvent::Switch { .. });
            for sample in finished.drain(..) {
                if !is_switch && survey.ran_without_switches.contains(&sample.tid) {
                    followed.wakeups.unseen += 1;
                    continue;
                }
                if let Some(counted) = followed.count(&sample) {
                    let kept = Kept { finished: sample, counted, raw_seen_ns: raw.ts_ns };
                    match end {
                        Some(end) => last.see(kept, end),
                        None => keeping.offer(kept),
                    }
                }
            }
        }
    }
    let unfinished = end.and_then(|end| under_way(&mut followed, end, span.1));
    followed.series.iter_mut().for_each(Series::close_second);
    let kept = match end {
        Some(_) => unfinished.or_else(|| last.kept()).into_iter().collect(),
        None => chosen(&followed, &keeping),
    };
    Some(Found { followed, choice, kept, unfinished: unfinished.is_some(), span, is_cut })
}

/// The last samples of a recording that ends because its machine did.
#[derive(Debug, Default)]
struct Last {
    miss: Option<Kept>,
    any: Option<Kept>,
}

impl Last {
    fn see(&mut self, kept: Kept, end: &AtEnd) {
        let is_known = kept.counted.sample.seen_ns() <= end.known_until_ns;
        if !is_known && end.is_miss(kept.finished.kind, kept.counted.sample.latency_ns) {
            self.miss = Some(kept);
        }
        self.any = Some(kept);
    }

    /// The last miss. Without one, the last sample shows what the machine did before its end.
    fn kept(&self) -> Option<(Kept, SpikeReason)> {
        let miss = self.miss.map(|kept| (kept, SpikeReason::OverLimit));
        miss.or(self.any.map(|kept| (kept, SpikeReason::Control)))
    }
}

/// Of the samples that were under way and over their limit, the one that was longest.
fn under_way(followed: &mut Followed, end: &AtEnd, end_ns: i64) -> Option<(Kept, SpikeReason)> {
    let late_ns = |sample: &Finished| sample.seen_ns.saturating_sub(sample.due_ns);
    let under_way = followed.wakeups.under_way_at(end_ns).into_iter();
    let finished = under_way.filter(|sample| end.is_miss(sample.kind, late_ns(sample))).max_by_key(late_ns)?;
    let counted = followed.count(&finished)?;
    Some((Kept { finished, counted, raw_seen_ns: end_ns }, SpikeReason::OverLimit))
}

fn terms(start_ns: i64) -> Terms {
    Terms {
        count_from_ns: start_ns,
        end_ns: i64::MAX,
        limit_ns: i64::MAX,
        cycle_limit_ns: i64::MAX,
        captures_outstanding: false,
        spike_threshold_ns: i64::MAX,
        stretches: None,
        rest_ns: 0,
        worst_kept: WORST_OF_SERIES,
        every_sample: false,
    }
}

/// The worst wake-ups, and ordinary ones of the threads that they are of. A thread that timers wake is late by its timers alone.
fn chosen(followed: &Followed, keeping: &Keeping) -> Vec<(Kept, SpikeReason)> {
    let timed: BTreeSet<i32> =
        followed.series.iter().filter(|series| series.kind == WatchedKind::Timer).map(|series| series.tid).collect();
    let counts = |number: u32| {
        followed.series.get(number as usize).is_some_and(|series| match series.kind {
            WatchedKind::Timer => true,
            WatchedKind::Woken => !timed.contains(&series.tid),
            WatchedKind::Cycle => false,
        })
    };
    let worst = keeping.worst(counts);
    let mut kept: Vec<(Kept, SpikeReason)> = worst.iter().map(|kept| (*kept, SpikeReason::NewMaximum)).collect();
    let of: BTreeSet<u32> = worst.iter().take(1).map(|kept| kept.counted.thread).collect();
    for number in of {
        let Some(series) = followed.series.get(number as usize) else { continue };
        let histogram = series.histogram();
        let Some(ceiling_ns) = histogram.quantile_ns(0.6).filter(|_| histogram.total() >= CONTROL_SAMPLES_MIN) else {
            continue;
        };
        let ordinary = keeping.ordinary(number, ceiling_ns, CONTROLS);
        kept.extend(ordinary.into_iter().filter(|one| !worst.contains(one)).map(|one| (one, SpikeReason::Control)));
    }
    kept.sort_by_key(|(kept, _)| kept.counted.sample.due_ns);
    kept
}

/// Gives events the time of CLOCK_MONOTONIC.
struct Converter<'s> {
    clock: &'s Clock,
    by_cpu: BTreeMap<u32, OfCpu>,
}

/// The stretch of a CPU whose offset is known, and the last instant.
#[derive(Debug, Clone, Copy)]
struct OfCpu {
    bin: i64,
    offset_ns: i64,
    last_ns: i64,
}

impl Converter<'_> {
    /// `None` for a timer whose expiry says nothing, because it is in an unrelated clock.
    fn event(&mut self, event: &TimedEvent) -> Option<TimedEvent> {
        let related = !matches!(self.clock, Clock::Unrelated);
        if !related && matches!(event.event, ThreadEvent::Arm { .. }) {
            return None;
        }
        let bin = event.ts_ns.div_euclid(BIN_NS);
        let unknown = OfCpu { bin: i64::MIN, offset_ns: 0, last_ns: i64::MIN };
        let of = self.by_cpu.entry(event.cpu).or_insert(unknown);
        if of.bin != bin {
            (of.bin, of.offset_ns) = (bin, self.clock.rough_ns(event.cpu, event.ts_ns));
        }
        // Offsets of neighbouring stretches differ a little; time does not go back for that.
        of.last_ns = event.ts_ns.saturating_add(of.offset_ns).max(of.last_ns);
        Some(TimedEvent { ts_ns: of.last_ns, ..*event })
    }
}
