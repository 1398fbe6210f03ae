//! The account of one chain: its instances, the ledger of each, and the causes of late ones.

use crate::declaration::Chain;
use crate::findings::Findings;
use crate::links::{Linked, Passage, links, threads_of};
use crate::recorded::Recorded;
use crate::walk::Walk;
use archive::chain::{ChainAccount, ChainInstance, ChainLimit, StageSpan, StageTimes};
use archive::culprit::ForeignText;

/// Segments of all ledgers together; instances that overlap may have many times the events of the recording.
const SEGMENTS_MAX: usize = 4_000_000;

/// Accounts for a chain in recordings of one machine, such as the snapshots of a run. `ledgers`: how many instances keep their ledger, the
/// worst ones.
pub fn account(recordings: &[Recorded], chain: &Chain, ledgers: usize) -> ChainAccount {
    let deadline_ns = chain.deadline.map(|deadline| deadline.ns);
    let (mut found, mut absent, mut unlinked) = (Vec::new(), Vec::new(), 0);
    for recorded in recordings {
        let links = links(recorded, chain);
        unlinked += links.unlinked;
        absent.push(links.absent);
        found.extend(links.instances.into_iter().map(|linked| (recorded, linked)));
    }
    // Snapshots may overlap, and one of them may have the end that another one lacks.
    let begin = |(_, linked): &(&Recorded, Linked)| linked.passages.first().map(|first| (first.woken_ns, first.tid));
    found.sort_by_key(|found| (begin(found), found.1.is_open));
    found.dedup_by_key(|found| begin(found));
    found.sort_by_key(|(_, linked)| linked.passages.first().map(|first| (first.given_ns, first.tid)));
    let mut limits = limits(recordings);
    let never = |index: &usize| absent.iter().all(|absent| absent.contains(index));
    let unknown = (0..chain.stages.len()).filter(never).filter_map(|index| chain.stages.get(index));
    limits.extend(unknown.map(|stage| ChainLimit::NoThread { stage: ForeignText(stage.label()) }));
    limits.extend(event_limits(recordings, chain));
    let (mut instances, mut segments) = (Vec::with_capacity(found.len()), 0);
    for (recorded, linked) in &found {
        let instance = instance(recorded, linked);
        segments += instance.segments.len();
        if segments > SEGMENTS_MAX {
            limits.push(ChainLimit::SegmentsCut { instances: found.len() - instances.len() });
            break;
        }
        instances.push((*recorded, instance));
    }
    let findings = Findings::of(&instances).late(deadline_ns);
    let mut instances: Vec<ChainInstance> = instances.into_iter().map(|(_, instance)| instance).collect();
    let stages = stage_times(chain, &instances);
    keep_worst_ledgers(&mut instances, ledgers);
    let name = ForeignText(chain.name.clone());
    ChainAccount { name, deadline_ns, instances, unlinked, stages, findings, limits }
}

/// Events of the declaration that no recording knows, or that no thread of their stage caused.
fn event_limits(recordings: &[Recorded], chain: &Chain) -> Vec<ChainLimit> {
    // One that could not be read has a limit of its own.
    let read = || recordings.iter().filter(|recorded| recorded.events() > 0);
    let declared = [(chain.stimulus.event(), chain.stages.first()), (chain.end.event(), chain.stages.last())];
    let mut limits = Vec::new();
    for (event, stage) in declared.into_iter().filter_map(|(event, stage)| event.zip(stage)) {
        let of_stage = |recorded: &Recorded| {
            let tids = threads_of(recorded, stage);
            recorded.occurred(event).iter().any(|occurred| tids.contains(&occurred.tid))
        };
        let name = ForeignText(event.to_string());
        let limit = match read().any(|recorded| recorded.occurrences.contains_key(event)) {
            _ if read().next().is_none() || read().any(of_stage) => continue,
            true => ChainLimit::EventOfNoStage { event: name },
            false => ChainLimit::NoEvent { event: name },
        };
        if !limits.contains(&limit) {
            limits.push(limit);
        }
    }
    limits
}

/// The limits of all recordings, each once.
fn limits(recordings: &[Recorded]) -> Vec<ChainLimit> {
    let (mut limits, mut lost): (Vec<ChainLimit>, u64) = (Vec::new(), 0);
    for limit in recordings.iter().flat_map(|recorded| &recorded.limits) {
        match limit {
            ChainLimit::EventsLost(count) => lost = lost.saturating_add(*count),
            limit if limits.contains(limit) => {}
            limit => limits.push(limit.clone()),
        }
    }
    limits.extend((lost > 0).then_some(ChainLimit::EventsLost(lost)));
    limits
}

fn instance(recorded: &Recorded, linked: &Linked) -> ChainInstance {
    let mut walk = Walk::new(recorded);
    let mut stages = Vec::with_capacity(linked.passages.len());
    for (stage, passage) in linked.passages.iter().enumerate() {
        let end_ns = linked.passages.get(stage + 1).map_or(linked.end_ns, |next| next.given_ns);
        way(&mut walk, stage, passage);
        walk.work(stage, passage.tid, passage.woken_ns, end_ns);
        let (start_ns, woken_ns) = (passage.given_ns, passage.woken_ns);
        stages.push(StageSpan { thread: recorded.names.task_name(passage.tid), start_ns, woken_ns, end_ns });
    }
    let stimulus_ns = linked.passages.first().map_or(linked.end_ns, |first| first.given_ns);
    ChainInstance { stimulus_ns, end_ns: linked.end_ns, is_open: linked.is_open, stages, segments: walk.segments }
}

/// From the stimulus or the stage before to the wake-up of a stage.
fn way(walk: &mut Walk<'_>, stage: usize, passage: &Passage) {
    let hops = passage.route.hops();
    if let Some(first) = hops.first() {
        walk.stimulus(first.wake.cpu, passage.given_ns, first.wake.ts_ns);
    }
    for pair in hops.windows(2) {
        walk.carried(stage, pair[0].tid, pair[0].wake.ts_ns, pair[1].wake.ts_ns);
    }
}

fn stage_times(chain: &Chain, instances: &[ChainInstance]) -> Vec<StageTimes> {
    let times = chain.stages.iter().enumerate().map(|(index, stage)| {
        let spans = instances.iter().filter_map(|instance| instance.stages.get(index));
        let mut times_ns: Vec<i64> = spans.map(StageSpan::ns).collect();
        times_ns.sort_unstable();
        let median_ns = times_ns.get(times_ns.len() / 2).copied().unwrap_or(0);
        let max_ns = times_ns.last().copied().unwrap_or(0);
        StageTimes { name: ForeignText(stage.label()), median_ns, max_ns }
    });
    if instances.is_empty() { Vec::new() } else { times.collect() }
}

fn keep_worst_ledgers(instances: &mut [ChainInstance], ledgers: usize) {
    if ledgers >= instances.len() {
        return;
    }
    let mut order: Vec<usize> = (0..instances.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(instances[*index].latency_ns()));
    for index in order.into_iter().skip(ledgers) {
        instances[index].segments = Vec::new();
    }
}

#[cfg(test)]
mod tests;
