//! A part of a run by the wall clock: its figures by hour, and the spikes in it.

use archive::message::RunPhase;
use archive::reader::Run;
use archive::spike::Spike;
use archive::watched::WatchedKind;
use std::collections::BTreeMap;

const SECOND_NS: i64 = 1_000_000_000;
const HOUR_NS: i64 = 3600 * SECOND_NS;

/// From one instant to before another, in ns since 1970 on the clock of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub from_unix_ns: i64,
    pub until_unix_ns: i64,
}

impl Window {
    /// The part that both have.
    pub fn common(self, other: Self) -> Option<Self> {
        let from_unix_ns = self.from_unix_ns.max(other.from_unix_ns);
        let until_unix_ns = self.until_unix_ns.min(other.until_unix_ns);
        (from_unix_ns < until_unix_ns).then_some(Self { from_unix_ns, until_unix_ns })
    }

    fn contains(self, unix_ns: i64) -> bool {
        (self.from_unix_ns..self.until_unix_ns).contains(&unix_ns)
    }

    /// The time in which a run has samples, so far if it goes on; `None` without a sample or the clock of the target.
    pub fn of(run: &Run) -> Option<Self> {
        let (first_ns, offset_ns) = (counted_from(run)?, run.realtime_offset_ns?);
        let seconds = run.threads.values().flat_map(|thread| &thread.seconds);
        let ends = seconds.map(|second| instant_of(first_ns, second.second.saturating_add(1)));
        let spikes = run.spikes.iter().map(|spike| spike.sample.seen_ns());
        let last_ns = ends.chain(spikes).max()?;
        let unix = |ns: i64| ns.saturating_add(offset_ns);
        Some(Self { from_unix_ns: unix(first_ns), until_unix_ns: unix(last_ns).saturating_add(1) })
    }

    /// The run with the spikes of this window, and its controls, with which explanations compare.
    pub fn cut(self, mut run: Run) -> Run {
        let offset_ns = run.realtime_offset_ns.unwrap_or(0);
        run.spikes.retain(|spike| spike.is_control() || self.has(spike, offset_ns));
        run
    }

    fn has(self, spike: &Spike, offset_ns: i64) -> bool {
        self.contains(spike.sample.seen_ns().saturating_add(offset_ns))
    }
}

fn counted_from(run: &Run) -> Option<i64> {
    run.phases.iter().find(|(phase, _)| *phase == RunPhase::Measure).map(|(_, ns)| *ns)
}

fn instant_of(first_ns: i64, second: u32) -> i64 {
    first_ns.saturating_add(i64::from(second).saturating_mul(SECOND_NS))
}

/// Samples of the threads that count, and those over the limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub samples: u64,
    pub over_limit: u64,
    pub latency_ns_max: Option<i64>,
}

impl Counts {
    pub fn add(&mut self, other: &Self) {
        self.samples += other.samples;
        self.over_limit += other.over_limit;
        self.latency_ns_max = self.latency_ns_max.max(other.latency_ns_max);
    }
}

/// One hour of the wall clock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hour {
    /// Wake-ups, and cycles of watched threads.
    pub wake_ups: Counts,
    pub cycles: Counts,
    /// Numbers of the late wake-ups and cycles that were captured, largest first.
    pub captured: Vec<u32>,
    /// Numbers of the spikes that were kept on request.
    pub requested: Vec<u32>,
}

/// The figures of a window of a run by the hour, keyed by ns since 1970.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hours(pub BTreeMap<i64, Hour>);

impl Hours {
    /// Of a run and a window that it covers. A second counts if it begins in the window.
    pub fn of(run: &Run, window: Window) -> Self {
        let mut hours = Self::default();
        let (Some(first_ns), Some(offset_ns)) = (counted_from(run), run.realtime_offset_ns) else { return hours };
        for thread in run.threads.values().filter(|thread| run.decides(thread.thread)) {
            let kind = run.watched.get(&thread.thread).map(|series| series.kind);
            for second in &thread.seconds {
                let unix_ns = instant_of(first_ns, second.second).saturating_add(offset_ns);
                if second.cycles == 0 || !window.contains(unix_ns) {
                    continue;
                }
                let hour = hours.at(unix_ns);
                let counts = if kind == Some(WatchedKind::Cycle) { &mut hour.cycles } else { &mut hour.wake_ups };
                counts.add(&Counts {
                    samples: second.cycles.into(),
                    over_limit: second.over_limit.into(),
                    latency_ns_max: Some(second.latency_ns_max),
                });
            }
        }
        let mut spikes: Vec<&Spike> = run.spikes.iter().filter(|spike| window.has(spike, offset_ns)).collect();
        spikes.sort_by_key(|spike| (std::cmp::Reverse(spike.sample.latency_ns), spike.number));
        for spike in spikes {
            let hour = hours.at(spike.sample.seen_ns().saturating_add(offset_ns));
            if spike.requested {
                hour.requested.push(spike.number);
            } else if run.is_late(spike) {
                hour.captured.push(spike.number);
            }
        }
        hours
    }

    fn at(&mut self, unix_ns: i64) -> &mut Hour {
        self.0.entry(unix_ns.div_euclid(HOUR_NS).saturating_mul(HOUR_NS)).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::reader::ThreadRun;
    use archive::sample::{Sample, Second};
    use archive::spike::SpikeReason;

    /// A run of three hours that began half an hour after a full one, with a late wake-up in the first and the last hour.
    fn run() -> Run {
        let second = |second, latency_ns_max, over_limit| Second {
            second,
            cycles: 10,
            latency_ns_max,
            over_limit,
            ..Second::default()
        };
        let seconds = vec![second(5, 900_000, 2), second(2000, 30_000, 0), second(9000, 400_000, 1)];
        let thread = ThreadRun { seconds: seconds.into(), ..ThreadRun::default() };
        let spike = |number, second: i64, latency_ns| {
            let sample = Sample { cpu: 0, cycle: 0, due_ns: 100 + second * SECOND_NS, latency_ns };
            Spike::new(number, 0, 7, sample, SpikeReason::OverLimit)
        };
        let mut control = spike(3, 100, 5_000);
        control.reason = SpikeReason::Control;
        let saved = Spike { requested: true, reason: SpikeReason::Control, ..spike(4, 9001, 20_000) };
        Run {
            realtime_offset_ns: Some(100 * HOUR_NS + HOUR_NS / 2 - 100),
            phases: vec![(RunPhase::Measure, 100)],
            threads: BTreeMap::from([(0, thread)]),
            spikes: vec![spike(1, 5, 900_000), spike(2, 9000, 400_000), control, saved],
            ..Run::default()
        }
    }

    #[test]
    fn the_figures_of_a_window_are_by_the_hour() {
        let run = run();
        let all = Window::of(&run).unwrap();
        assert_eq!(all.from_unix_ns, 100 * HOUR_NS + HOUR_NS / 2);
        let hours = Hours::of(&run, all).0;
        let found: Vec<_> = hours
            .iter()
            .map(|(unix_ns, hour)| (unix_ns / HOUR_NS, hour.wake_ups.over_limit, hour.captured.clone()))
            .collect();
        assert_eq!(found, [(100, 2, vec![1]), (101, 0, vec![]), (103, 1, vec![2])]);
        assert_eq!(hours[&(103 * HOUR_NS)].requested, [4]);
        let last = Window { from_unix_ns: 101 * HOUR_NS, ..all };
        let hours = Hours::of(&run, last).0;
        assert_eq!(hours.values().map(|hour| hour.wake_ups.over_limit).sum::<u64>(), 1);
    }

    #[test]
    fn a_cut_run_has_the_spikes_of_its_window_and_the_controls() {
        let all = Window::of(&run()).unwrap();
        let first = Window { until_unix_ns: 101 * HOUR_NS, ..all };
        let numbers = |run: Run| run.spikes.iter().map(|spike| spike.number).collect::<Vec<_>>();
        assert_eq!(numbers(first.cut(run())), [1, 3]);
        assert_eq!(numbers(all.cut(run())), [1, 2, 3, 4]);
        assert_eq!(all.common(Window { from_unix_ns: 0, until_unix_ns: 5 }), None);
        assert_eq!(Window::of(&Run::default()), None);
    }
}
