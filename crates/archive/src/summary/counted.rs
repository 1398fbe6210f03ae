//! The output of a watched command, with the late wake-ups before it.

use crate::reader::Run;
use crate::spike::Spike;
use serde::{Deserialize, Serialize};

/// A late wake-up is assigned to a line if it ended at most this long before the line was read.
pub const BESIDE_NS: i64 = 100_000_000;

/// One text to count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
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
pub struct PrintedLine {
    pub line: String,
    /// When it was read, since the measurement started, in ns; `None` if the command ran on another machine.
    pub at_ns: Option<i64>,
    pub beside: Option<SpikeBeside>,
}

/// The largest spike in the [`BESIDE_NS`] before a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SpikeBeside {
    pub spike: u32,
    pub latency_ns: i64,
    /// From the end of the late wake-up until the line was read, in ns.
    pub before_ns: i64,
}

pub fn counted(run: &Run, measure_start_ns: Option<i64>) -> Vec<CountedText> {
    let settings = run.manifest.as_ref().and_then(|manifest| manifest.settings.as_ref()?.watch.as_ref());
    let spikes: Vec<&Spike> = run.late_spikes().collect();
    let text = |(position, text): (usize, &String)| CountedText {
        text: text.clone(),
        count: run.output.totals.get(position).copied().unwrap_or(0),
        lines: run
            .output
            .lines
            .iter()
            .filter(|line| line.text as usize == position)
            .map(|line| PrintedLine {
                line: line.line.clone(),
                at_ns: line.monotonic_ns.zip(measure_start_ns).map(|(at, start)| at.saturating_sub(start)),
                beside: line.monotonic_ns.and_then(|at| beside(&spikes, at)),
            })
            .collect(),
    };
    settings.into_iter().flat_map(|watch| watch.count.iter().enumerate()).map(text).collect()
}

fn beside(spikes: &[&Spike], at_ns: i64) -> Option<SpikeBeside> {
    let near = spikes.iter().filter_map(|spike| {
        let before_ns = at_ns.checked_sub(spike.sample.seen_ns())?;
        (0..=BESIDE_NS).contains(&before_ns).then_some((*spike, before_ns))
    });
    let (spike, before_ns) = near.max_by_key(|(spike, _)| spike.sample.latency_ns)?;
    Some(SpikeBeside { spike: spike.number, latency_ns: spike.sample.latency_ns, before_ns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;
    use crate::spike::SpikeReason;

    fn spike(number: u32, seen_ns: i64, latency_ns: i64) -> Spike {
        Spike {
            number,
            thread: 0,
            tid: 1,
            sample: Sample { cpu: 0, cycle: 1, due_ns: seen_ns - latency_ns, latency_ns },
            reason: SpikeReason::OverLimit,
            previous_seen_ns: None,
            snapshot: None,
            snapshot_missing: None,
            watched: None,
        }
    }

    #[test]
    fn the_largest_spike_shortly_before_a_line_stands_beside_it() {
        let (early, small, large, later) =
            (spike(1, 50, 9), spike(2, 300_000_000, 5), spike(3, 310_000_000, 7), spike(4, 330_000_001, 99));
        let spikes = [&early, &small, &large, &later];
        let found = |at| beside(&spikes, at).map(|beside| (beside.spike, beside.before_ns));
        assert_eq!(found(330_000_000), Some((3, 20_000_000)), "one that ends later is no reason");
        assert_eq!(found(305_000_000), Some((2, 5_000_000)));
        assert_eq!(found(200_000_000), None, "too long ago");
        assert_eq!(found(i64::MIN), None);
    }
}
