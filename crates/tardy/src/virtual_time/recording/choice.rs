//! Selects the wake-ups of a run to record.

use super::super::laboratory::Trajectory;
use super::not_again;
use archive::reader::Run;
use archive::sample::Sample;
use archive::samples_file::SampleRecord;
use archive::spike::{Spike, SpikeReason};
use std::collections::BTreeSet;

pub const WORST_DEFAULT: u32 = 3;
pub const CONTROLS_DEFAULT: u32 = 3;

/// The requested wake-ups. Controls are ordinary samples, for comparison.
#[derive(Debug, Clone)]
pub enum Wanted {
    Worst { count: u32, controls: u32 },
    Cycles { cycles: Vec<u64>, controls: u32 },
}

/// The wake-ups as spikes, with numbers after those of the run; an existing spike keeps its number.
pub fn spikes(run: &Run, wanted: &Wanted) -> anyhow::Result<Vec<Spike>> {
    let trajectory = Trajectory::of(run)?;
    let samples: Vec<SampleRecord> = trajectory.samples().collect();
    let tid = run.effective.iter().flat_map(|effective| &effective.threads).map(|thread| thread.tid).next();
    let tid = tid.ok_or_else(|| not_again("the archive does not name the measuring thread"))?;
    let (late, controls) = chosen(&samples, wanted).map_err(|number| {
        not_again(&format!("there is no wake-up {number}; the run has {}, counted from 0", samples.len()))
    })?;
    let last = run.spikes.iter().map(|spike| spike.number).max().unwrap_or(0);
    let limit_ns = run.manifest.as_ref().and_then(|manifest| manifest.settings.as_ref()?.limit_ns);
    let reason = |at: usize| match limit_ns {
        Some(limit_ns) if samples[at].latency_ns > limit_ns => SpikeReason::OverLimit,
        _ => SpikeReason::NewMaximum,
    };
    let marked = late.into_iter().map(|at| (at, reason(at)));
    let marked: Vec<_> = marked.chain(controls.into_iter().map(|at| (at, SpikeReason::Control))).collect();
    let spike = |(number, &(at, reason)): (u32, &(usize, SpikeReason))| {
        let SampleRecord { due_ns, latency_ns } = samples[at];
        let sample = Sample { cpu: 0, cycle: at as u64, due_ns, latency_ns };
        let seen_before = at.checked_sub(1).map(|before| samples[before].due_ns + samples[before].latency_ns);
        let known = run.spikes.iter().find(|spike| spike.sample.cycle == sample.cycle);
        known.cloned().unwrap_or(Spike { previous_seen_ns: seen_before, ..Spike::new(number, 0, tid, sample, reason) })
    };
    Ok((last + 1..).zip(&marked).map(spike).collect())
}

/// Numbers of the late samples, the latest first, and of ordinary ones.
fn chosen(samples: &[SampleRecord], wanted: &Wanted) -> Result<(Vec<usize>, Vec<usize>), u64> {
    let mut by_latency: Vec<usize> = (0..samples.len()).collect();
    by_latency.sort_by_key(|&at| (std::cmp::Reverse(samples[at].latency_ns), at));
    let (late, controls) = match wanted {
        Wanted::Worst { count, controls } => (by_latency.iter().take(*count as usize).copied().collect(), *controls),
        Wanted::Cycles { cycles, controls } => {
            let numbers: BTreeSet<u64> = cycles.iter().copied().collect();
            let index = |number: u64| usize::try_from(number).ok().filter(|at| *at < samples.len()).ok_or(number);
            (numbers.into_iter().map(index).collect::<Result<Vec<usize>, u64>>()?, *controls)
        }
    };
    // Around the median, which is the ordinary latency.
    let middle = (by_latency.len() / 2).saturating_sub(controls as usize / 2);
    let ordinary = by_latency.iter().skip(middle).filter(|at| !late.contains(at));
    Ok((late.clone(), ordinary.take(controls as usize).copied().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(latencies: &[i64]) -> Vec<SampleRecord> {
        latencies.iter().map(|&latency_ns| SampleRecord { due_ns: 0, latency_ns }).collect()
    }

    #[test]
    fn the_latest_come_first_and_controls_are_ordinary() {
        let samples = samples(&[5, 90, 4, 6, 80, 5, 7]);
        let wanted = Wanted::Worst { count: 2, controls: 2 };
        let (late, controls) = chosen(&samples, &wanted).unwrap();
        assert_eq!(late, [1, 4]);
        assert!(controls.iter().all(|&at| (5..=7).contains(&samples[at].latency_ns)), "{controls:?}");
        assert_eq!(controls.len(), 2);
    }

    #[test]
    fn a_number_that_is_none_is_named() {
        let wanted = |cycles: &[u64]| Wanted::Cycles { cycles: cycles.to_vec(), controls: 0 };
        assert_eq!(chosen(&samples(&[1, 2]), &wanted(&[1, 0, 1])), Ok((vec![0, 1], vec![])));
        assert_eq!(chosen(&samples(&[1, 2]), &wanted(&[1, 2])), Err(2));
        assert_eq!(chosen(&[], &Wanted::Worst { count: 3, controls: 3 }), Ok((vec![], vec![])));
    }
}
