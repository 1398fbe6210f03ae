//! The chains that a watch followed, in the traces that it kept: one account for every page and document of the run.

use crate::spike_trace::SpikeTrace;
use archive::chain::ChainAccount;
use archive::reader::Run;
use archive::spike::{SaveRequest, Spike};
use archive::watched::SAVED_NS;
use archive::watched::chain::BEFORE_CHAIN_NS;
use chains::declaration::Chain;
use chains::event_name::EventName;
use chains::recorded::Recorded;
use ftrace::trace_dat::PagedTrace;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Instances of an account that keep their ledger, the worst ones.
pub const LEDGERS: usize = 10;
/// Events of all snapshots that a page or a document accounts for: about 400 MB of memory.
const SHOWN_EVENTS_MAX: u64 = 4_000_000;
/// More chains than a program has.
const SHOWN_MAX: usize = 64;

/// The events of the snapshots of a run, `events_max` at most; empty without any. A snapshot that cannot be read is a limit of the account.
/// `declared`: the events that begin or end chains.
pub fn recorded(run: &Run, declared: &BTreeSet<EventName>, events_max: u64) -> Vec<Recorded> {
    let (mut events_left, mut recordings) = (events_max, Vec::new());
    for spike in run.spikes.iter().filter(|spike| spike.snapshot_missing.is_none()) {
        if events_left == 0 {
            break;
        }
        let recorded = recorded_around(run, spike, declared, events_left);
        events_left = events_left.saturating_sub(recorded.events());
        recordings.push(recorded);
    }
    recordings
}

/// The first events of one snapshot, `events_max` at most.
pub fn recorded_around(run: &Run, spike: &Spike, declared: &BTreeSet<EventName>, events_max: u64) -> Recorded {
    match SpikeTrace::open(run, spike.number) {
        Ok(trace) => {
            let span = complete_span(run, spike);
            Recorded::within(&mut PagedTrace::open(trace.source()), declared, events_max, span)
        }
        Err(error) => Recorded::unreadable(error.to_string()),
    }
}

/// The span of which a snapshot has the events of every CPU. Whole pages are kept, so each CPU has some events before and after it, and a
/// wake-up there may have no waker.
fn complete_span(run: &Run, spike: &Spike) -> RangeInclusive<i64> {
    let Some(snapshot) = &spike.snapshot else { return i64::MIN..=i64::MAX };
    let overwritten = snapshot.coverage.iter().filter(|coverage| coverage.overwritten > 0);
    let oldest_ns = overwritten.filter_map(|coverage| coverage.oldest_ns).max().unwrap_or(i64::MIN);
    let settings = run.manifest.as_ref().and_then(|manifest| manifest.settings.as_ref());
    let Some(settings) = settings else { return oldest_ns..=snapshot.frozen_ns };
    let (from_ns, to_ns) = match (spike.requested, spike.request.as_ref().and_then(SaveRequest::missed_chain)) {
        (false, _) => (
            spike.sample.due_ns.saturating_sub_unsigned(settings.trace.margin_before_ns),
            spike.sample.seen_ns().saturating_add_unsigned(settings.trace.margin_after_ns),
        ),
        (true, Some(missed)) => (missed.stimulus_ns.saturating_sub_unsigned(BEFORE_CHAIN_NS), i64::MAX),
        (true, None) => {
            let guard = settings.watch.as_ref().and_then(|watch| watch.guard.as_ref());
            let saved_ns = guard.map_or(SAVED_NS, |guard| guard.saved_ns);
            (snapshot.frozen_ns.saturating_sub_unsigned(saved_ns), i64::MAX)
        }
    };
    from_ns.max(oldest_ns)..=to_ns.min(snapshot.frozen_ns)
}

/// The accounts of the chains that the run followed; empty if it followed none, or kept no trace.
pub fn followed(run: &Run) -> Vec<ChainAccount> {
    let settings = run.manifest.as_ref().and_then(|manifest| manifest.settings.as_ref());
    let followed = settings.and_then(|settings| settings.watch.as_ref()).map_or(&[] as &[_], |watch| &watch.chains);
    if followed.is_empty() {
        return Vec::new();
    }
    let declared: Vec<Chain> = followed.iter().filter_map(Chain::of_followed).take(SHOWN_MAX).collect();
    let events = declared.iter().flat_map(Chain::events).cloned().collect();
    let recordings = recorded(run, &events, SHOWN_EVENTS_MAX);
    if recordings.is_empty() {
        return Vec::new();
    }
    declared.iter().map(|chain| chains::account(&recordings, chain, LEDGERS)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::sample::Sample;
    use archive::settings::{RunSettings, SnapshotMode, TraceSettings};
    use archive::spike::{Coverage, RequestSource, Snapshot, SpikeReason};
    use archive::watched::chain::MissedChain;
    use fixtures::repository::repository_path;

    fn coverage(cpu: u32, oldest_ns: i64, overwritten: u64) -> Coverage {
        Coverage { cpu, oldest_ns: Some(oldest_ns), newest_ns: Some(9000), overwritten, dropped: 0 }
    }

    /// Due at 5000, seen at 6000, frozen at 8000.
    fn spike(coverage: Vec<Coverage>) -> Spike {
        let sample = Sample { cpu: 0, cycle: 0, due_ns: 5000, latency_ns: 1000 };
        let snapshot = Snapshot {
            mode: SnapshotMode::Flip,
            frozen_ns: 8000,
            swap_ns: 0,
            blind_ns: 0,
            coverage,
            window_covered: true,
            trace_bytes: 0,
            steal_ns: None,
            put_aside_ns: None,
        };
        Spike { snapshot: Some(snapshot), ..Spike::new(1, 0, 7, sample, SpikeReason::OverLimit) }
    }

    #[test]
    fn events_beyond_the_margins_of_a_snapshot_and_of_an_emptier_buffer_do_not_count() {
        let trace = TraceSettings { margin_before_ns: 3000, margin_after_ns: 500, ..TraceSettings::default() };
        let mut run = Run::open(repository_path("corpus/archives/v1")).unwrap();
        run.manifest.as_mut().unwrap().settings = Some(RunSettings { trace, ..RunSettings::default() });
        let early = vec![coverage(0, 100, 5), coverage(1, 4000, 0)];
        assert_eq!(complete_span(&run, &spike(early.clone())), 2000..=6500, "nothing of CPU 1 was overwritten");
        assert_eq!(complete_span(&run, &spike(vec![coverage(0, 100, 5), coverage(1, 4000, 5)])), 4000..=6500);
        let saved = Spike { requested: true, ..spike(early) };
        assert_eq!(complete_span(&run, &saved), 100..=8000, "up to the request");
        let missed = MissedChain {
            name: "arm".into(),
            stimulus_ns: 5000 + i64::try_from(BEFORE_CHAIN_NS).unwrap(),
            end_ns: 0,
            deadline_ns: 1,
            is_open: false,
            instances: 1,
            missed: 1,
        };
        let request = Some(SaveRequest::new(RequestSource::Chain(missed), ""));
        assert_eq!(
            complete_span(&run, &Spike { request, ..saved.clone() }),
            5000..=8000,
            "half a second before the chain"
        );
        let imported = Spike { snapshot: None, ..saved };
        assert_eq!(complete_span(&run, &imported), i64::MIN..=i64::MAX);
    }
}
