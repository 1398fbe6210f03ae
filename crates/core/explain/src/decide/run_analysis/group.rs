//! Spikes grouped by the culprit that explains them.

use super::period;
use super::{ExplainedSpike, SpikesOfRun};
use archive::causes::{CauseGroup, CpuCount, Rhythm};
use archive::culprit::Culprit;
use archive::sample::Sample;
use std::collections::{BTreeMap, HashSet};

/// Most spikes first, the unexplained last.
pub fn groups(explained: &[ExplainedSpike], worst: &[(u32, Sample)], run: &SpikesOfRun) -> Vec<CauseGroup> {
    let mut by_culprit: BTreeMap<Option<&Culprit>, Vec<&ExplainedSpike>> = BTreeMap::new();
    for one in explained {
        by_culprit.entry(one.culprit()).or_default().push(one);
    }
    let mut groups: Vec<CauseGroup> =
        by_culprit.into_iter().map(|(culprit, spikes)| group(culprit, spikes, worst, run)).collect();
    groups.sort_by_key(|group| {
        let ranks = (std::cmp::Reverse(group.spikes.len()), std::cmp::Reverse(group.latency_ns_max));
        (group.culprit.is_none(), ranks, group.culprit.clone())
    });
    groups
}

fn group(
    culprit: Option<&Culprit>,
    mut spikes: Vec<&ExplainedSpike>,
    worst: &[(u32, Sample)],
    run: &SpikesOfRun,
) -> CauseGroup {
    spikes.sort_by_key(|explained| (std::cmp::Reverse(explained.spike.sample.latency_ns), explained.spike.number));
    let wake_ups: HashSet<(u32, u64)> =
        spikes.iter().map(|explained| (explained.spike.thread, explained.spike.sample.cycle)).collect();
    let among_worst = worst.iter().filter(|(thread, sample)| wake_ups.contains(&(*thread, sample.cycle))).count();
    let mut cpus: BTreeMap<u32, u32> = BTreeMap::new();
    for explained in &spikes {
        *cpus.entry(explained.spike.sample.cpu).or_default() += 1;
    }
    let mut cpus: Vec<CpuCount> = cpus.into_iter().map(|(cpu, count)| CpuCount { cpu, count }).collect();
    cpus.sort_by_key(|of| (std::cmp::Reverse(of.count), of.cpu));
    let rhythm = rhythm(&spikes, worst, run);
    CauseGroup {
        culprit: culprit.cloned(),
        title: culprit.map_or("not explained", title).to_owned(),
        latency_ns_max: spikes.first().map_or(0, |explained| explained.spike.sample.latency_ns),
        spikes: spikes.iter().map(|explained| explained.spike.number).collect(),
        cpus,
        worst: among_worst as u32,
        rhythm: words::run_causes::rhythm(&rhythm),
        period: match rhythm {
            Rhythm::Period(period) => Some(period),
            _ => None,
        },
    }
}

/// A culprit in a few words.
fn title(culprit: &Culprit) -> &str {
    words::culprits::advice(culprit).map_or(culprit.id(), |advice| advice.title)
}

/// The rhythm of the due instants. Snapshots take time: if more wake-ups were this late than snapshots could be taken,
/// their instants are determined by the recorder.
fn rhythm(spikes: &[&ExplainedSpike], worst: &[(u32, Sample)], run: &SpikesOfRun) -> Rhythm {
    if spikes.len() < period::VOTES_MIN {
        return Rhythm::TooFew;
    }
    let least_ns = spikes.iter().map(|explained| explained.spike.sample.latency_ns).min().unwrap_or(0);
    let captured: HashSet<(u32, u64)> = run.spikes.iter().map(|spike| (spike.thread, spike.sample.cycle)).collect();
    let as_late = worst.iter().filter(|(_, sample)| sample.latency_ns >= least_ns);
    let uncaptured = as_late.filter(|(thread, sample)| !captured.contains(&(*thread, sample.cycle))).count();
    if uncaptured > spikes.len() {
        return Rhythm::OfTheRecorder;
    }
    let mut due: Vec<i64> = spikes.iter().map(|explained| explained.spike.sample.due_ns).collect();
    due.sort_unstable();
    period::rhythm(&due, run.interval_ns, run.tick_hz)
}
