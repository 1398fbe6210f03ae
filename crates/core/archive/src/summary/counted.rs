//! The output of a watched command, with the late wake-ups before it.

use crate::policy::Policy;
use crate::reader::Run;
use crate::spike::Spike;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A late wake-up is assigned to a line if it ended at most this long before the line was read.
pub const BESIDE_NS: i64 = 100_000_000;

/// One text to count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CountedText {
    pub text: String,
    /// Lines that contain it.
    pub count: u64,
    /// The kept lines, the first ones, in the order they were printed.
    pub lines: Vec<PrintedLine>,
}

/// A line that contains a counted text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PrintedLine {
    pub line: String,
    /// When it was read, since the measurement started, in ns; `None` if the command ran on another machine.
    pub at_ns: Option<i64>,
    /// Longest time from its writing until it was read, in ns; `None` if that is unknown.
    #[serde(default)]
    pub uncertain_ns: Option<u64>,
    pub beside: Option<SpikeBeside>,
}

/// The largest spike in the [`BESIDE_NS`] before a line, of threads with a real-time policy if they had any: an ordinary
/// thread of the same program is later on most machines, and rarely the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpikeBeside {
    pub spike: u32,
    /// Name of the late thread; empty if it is unknown.
    #[serde(default)]
    pub name: String,
    pub latency_ns: i64,
    /// From the end of the late wake-up until the line was read, in ns.
    pub before_ns: i64,
}

pub fn counted(run: &Run, measure_start_ns: Option<i64>) -> Vec<CountedText> {
    let settings = run.manifest.as_ref().and_then(|manifest| manifest.settings.as_ref()?.watch.as_ref());
    let texts = settings.map_or(&[][..], |watch| &watch.count);
    let mut counted: Vec<CountedText> = texts
        .iter()
        .enumerate()
        .map(|(position, text)| CountedText {
            text: text.clone(),
            count: run.output.totals.get(position).copied().unwrap_or(0),
            lines: Vec::new(),
        })
        .collect();
    let instants: Vec<Option<i64>> = run.output.lines.iter().map(|line| line.monotonic_ns).collect();
    let spikes: Vec<Candidate> = run.late_spikes().map(|spike| Candidate::of(spike, run)).collect();
    for (line, beside) in run.output.lines.iter().zip(beside(&spikes, &instants)) {
        if let Some(text) = counted.get_mut(line.text as usize) {
            text.lines.push(PrintedLine {
                line: line.line.clone(),
                uncertain_ns: line.uncertain_ns,
                at_ns: line.monotonic_ns.zip(measure_start_ns).map(|(at, start)| at.saturating_sub(start)),
                beside,
            });
        }
    }
    counted
}

/// A spike with its thread.
struct Candidate<'a> {
    spike: &'a Spike,
    name: &'a str,
    is_real_time: bool,
}

impl<'a> Candidate<'a> {
    fn of(spike: &'a Spike, run: &'a Run) -> Self {
        let thread = run.watched.get(&spike.thread);
        let policy = thread.and_then(|thread| thread.policy);
        Self {
            spike,
            name: thread.map_or("", |thread| &thread.name),
            is_real_time: policy.is_some_and(Policy::is_real_time),
        }
    }

    /// The largest is shown.
    fn rank(&self) -> (bool, i64) {
        (self.is_real_time, self.spike.sample.latency_ns)
    }
}

/// The spike to show beside each instant: the one of the highest rank that ended in the [`BESIDE_NS`] before it.
fn beside(spikes: &[Candidate], instants: &[Option<i64>]) -> Vec<Option<SpikeBeside>> {
    let mut by_end: Vec<(i64, usize)> =
        spikes.iter().enumerate().map(|(at, it)| (it.spike.sample.seen_ns(), at)).collect();
    by_end.sort_unstable();
    let mut order: Vec<(i64, usize)> = instants.iter().enumerate().filter_map(|(at, it)| Some(((*it)?, at))).collect();
    order.sort_unstable();
    let mut found = vec![None; instants.len()];
    // Spikes that ended in the time before the instant, by rank; both ends only move on.
    let mut window: BTreeSet<((bool, i64), usize)> = BTreeSet::new();
    let (mut entered, mut left) = (0, 0);
    for (at_ns, place) in order {
        while let Some((_, spike)) = by_end.get(entered).filter(|(end_ns, _)| *end_ns <= at_ns) {
            window.insert((spikes[*spike].rank(), *spike));
            entered += 1;
        }
        let oldest_ns = at_ns.saturating_sub(BESIDE_NS);
        while let Some((_, spike)) = by_end.get(left).filter(|(end_ns, _)| *end_ns < oldest_ns) {
            window.remove(&(spikes[*spike].rank(), *spike));
            left += 1;
        }
        found[place] = window.last().map(|(_, candidate)| {
            let Candidate { spike, name, .. } = spikes[*candidate];
            let Spike { number, sample, .. } = spike;
            let before_ns = at_ns.saturating_sub(sample.seen_ns());
            SpikeBeside { spike: *number, name: name.into(), latency_ns: sample.latency_ns, before_ns }
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;
    use crate::spike::SpikeReason;

    fn spike(number: u32, seen_ns: i64, latency_ns: i64) -> Spike {
        Spike::new(
            number,
            0,
            1,
            Sample { cpu: 0, cycle: 1, due_ns: seen_ns - latency_ns, latency_ns },
            SpikeReason::OverLimit,
        )
    }

    fn candidate(spike: &Spike, is_real_time: bool) -> Candidate<'_> {
        Candidate { spike, name: "loop", is_real_time }
    }

    #[test]
    fn a_real_time_thread_comes_before_an_ordinary_one_that_was_later() {
        let (urgent, ordinary) = (spike(1, 100, 5), spike(2, 110, 900));
        let spikes = [candidate(&urgent, true), candidate(&ordinary, false)];
        assert_eq!(beside(&spikes, &[Some(120)])[0].as_ref().map(|it| it.spike), Some(1));
        let spikes = [candidate(&urgent, false), candidate(&ordinary, false)];
        assert_eq!(beside(&spikes, &[Some(120)])[0].as_ref().map(|it| it.spike), Some(2));
    }

    #[test]
    fn the_largest_spike_shortly_before_a_line_stands_beside_it() {
        let (early, small, large, later) =
            (spike(1, 50, 9), spike(2, 300_000_000, 5), spike(3, 310_000_000, 7), spike(4, 330_000_001, 99));
        let spikes = [&early, &small, &large, &later].map(|spike| candidate(spike, false));
        let found = |at| beside(&spikes, &[Some(at)])[0].as_ref().map(|beside| (beside.spike, beside.before_ns));
        assert_eq!(found(330_000_000), Some((3, 20_000_000)), "one that ends later is no reason");
        assert_eq!(found(305_000_000), Some((2, 5_000_000)));
        assert_eq!(found(200_000_000), None, "too long ago");
        assert_eq!(found(i64::MIN), None);
        let together = beside(&spikes, &[Some(330_000_000), None, Some(200_000_000), Some(305_000_000)]);
        assert_eq!(
            together.iter().map(|one| one.as_ref().map(|it| it.spike)).collect::<Vec<_>>(),
            [Some(3), None, None, Some(2)]
        );
    }
}
