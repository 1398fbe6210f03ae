//! The series that the headline of a run is about.

use super::{CpuSummary, RunSummary, SpikeSummary};
use crate::reader::{Run, ThreadRun};
use crate::watched::{WatchedKind, WatchedSeries};

/// The threads whose samples are summarised: for watched threads, the series that best shows how late they woke.
pub fn headline(run: &Run) -> impl Iterator<Item = &ThreadRun> {
    let kind = best_kind(run.watched.values().filter(|series| run.decides(series.thread)));
    let of_kind = move |thread: &&ThreadRun| run.watched.get(&thread.thread).map(|series| series.kind) == kind;
    run.threads.values().filter(of_kind).filter(|thread| run.decides(thread.thread))
}

/// Kinds are declared in this order: wake-ups by timers show best how late a thread woke.
fn best_kind<'a>(deciding: impl Iterator<Item = &'a WatchedSeries>) -> Option<WatchedKind> {
    deciding.map(|series| series.kind).min()
}

impl RunSummary {
    /// The series of the figures in [`Self::all_cpus`].
    pub fn headline(&self) -> impl Iterator<Item = &CpuSummary> {
        let kind = best_kind(self.deciding().filter_map(|cpu| cpu.watched.as_ref()));
        self.deciding().filter(move |cpu| cpu.watched.as_ref().map(|series| series.kind) == kind)
    }

    /// The number of samples in [`Self::all_cpus`].
    pub fn headline_samples(&self) -> u64 {
        self.headline().map(|cpu| cpu.cycles).fold(0, u64::saturating_add)
    }

    /// The worst sample of the headline: its series and its latency in ns.
    pub fn worst(&self) -> Option<(&CpuSummary, i64)> {
        self.headline().filter_map(|cpu| Some((cpu, cpu.latency_ns.max?))).max_by_key(|(_, max)| *max)
    }

    /// The largest spike of the headline; of the other series if the headline has none.
    pub fn worst_spike(&self) -> Option<&SpikeSummary> {
        let of_headline = |thread: u32| self.headline().any(|cpu| cpu.thread == thread);
        self.late_spikes().find(|entry| of_headline(entry.spike.thread)).or_else(|| self.late_spikes().next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;
    use crate::sample::Totals;

    fn series(thread: u32, kind: WatchedKind, policy: Policy) -> WatchedSeries {
        WatchedSeries {
            thread,
            kind,
            tid: 1,
            name: "loop".into(),
            policy: Some(policy),
            priority: 0,
            slack_ns_max: 0,
            late_arms: 0,
            page_faults: None,
            ended: false,
        }
    }

    fn watched(all: &[(WatchedKind, Policy, i64)]) -> Run {
        let mut run = Run::default();
        for ((kind, policy, max), thread) in all.iter().zip(0..) {
            let totals = Totals { cycles: 10, over_limit: 1, latency_ns_max: Some(*max), ..Totals::default() };
            run.threads.insert(thread, ThreadRun { thread, totals, ..ThreadRun::default() });
            run.watched.insert(thread, series(thread, *kind, *policy));
        }
        run
    }

    #[test]
    fn a_summary_and_its_run_have_one_headline() {
        let all = [
            (WatchedKind::Cycle, Policy::Fifo, 9_000),
            (WatchedKind::Timer, Policy::Fifo, 4_010),
            (WatchedKind::Timer, Policy::Other, 4_020),
            (WatchedKind::Woken, Policy::Fifo, 5_000),
        ];
        let run = watched(&all);
        let summary = RunSummary::of(&run, &[]);
        let of_run: Vec<u32> = headline(&run).map(|thread| thread.thread).collect();
        let of_summary: Vec<u32> = summary.headline().map(|cpu| cpu.thread).collect();
        assert_eq!((of_run, of_summary), (vec![1], vec![1]));
        assert_eq!(summary.worst().map(|(cpu, ns)| (cpu.thread, ns)), Some((1, 4_010)));
        assert_eq!((summary.all_cpus.max, summary.headline_samples()), (Some(4_010), 10));
        // The limit is about every latency of the deciding threads, and not about cycles.
        assert_eq!(summary.limited_samples(), (2, 20));
    }

    #[test]
    fn without_timers_other_wake_ups_are_the_headline() {
        let run = watched(&[(WatchedKind::Cycle, Policy::Other, 9), (WatchedKind::Woken, Policy::Other, 5)]);
        assert_eq!(RunSummary::of(&run, &[]).worst().map(|(cpu, ns)| (cpu.thread, ns)), Some((1, 5)));
    }
}
