//! The bound of the scheduling latency of a PREEMPT_RT kernel by de Oliveira, Casini, de Oliveira and Cucinotta,
//! "Demystifying the Real-Time Linux Scheduling Latency", ECRTS 2020 (doi 10.4230/LIPIcs.ECRTS.2020.9), theorem 8: the
//! least positive L with
//!
//! `L = max(D_ST, D_POID) + D_PAIE + D_PSD + I_NMI(L) + I_IRQ(L)`
//!
//! The four delays are maxima of time without interrupts, which only the paper's own tracer measures; interrupts are in
//! every trace. Their interference is characterised by the paper's *sliding window*: for each interrupt, the largest
//! time that it was observed to take in any window of a length.

use crate::SpikeInput;
use crate::read::window::Window;
use crate::replay::context::Context;
use crate::replay::recorded::Recorded;
use std::collections::BTreeMap;

/// A latency above this counts as diverged, as in the paper's tool.
const LATENCY_NS_MAX: i64 = 100_000_000;

/// Longest observed durations, without interrupts, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delays {
    /// D_ST: interrupts off before a switch of threads until the scheduler has enabled preemption again.
    pub scheduler_tail_ns: i64,
    /// D_POID: preemption or interrupts off, and not to schedule.
    pub masked_ns: i64,
    /// D_PAIE: both on although the scheduler is about to be called.
    pub enabled_ns: i64,
    /// D_PSD: preemption off to schedule.
    pub scheduling_ns: i64,
}

impl Delays {
    /// The latency without any interrupt (lemma 7).
    pub fn interference_free_ns(&self) -> i64 {
        let blocked_ns = self.scheduler_tail_ns.max(self.masked_ns);
        blocked_ns.saturating_add(self.enabled_ns).saturating_add(self.scheduling_ns)
    }
}

/// Observed interrupt times of one CPU.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interference {
    /// By recording and source: start and duration of each, in ns. Windows never extend across recordings.
    seen: BTreeMap<String, Vec<Vec<(i64, i64)>>>,
    /// Length of the longest recording, in ns: longer windows are unknown.
    pub recorded_ns: i64,
}

impl Interference {
    /// Adds the occurrences of a source in one recording.
    pub fn add(&mut self, source: &str, mut occurrences: Vec<(i64, i64)>) {
        occurrences.sort_unstable();
        self.seen.entry(source.to_owned()).or_default().push(occurrences);
    }

    pub fn sources(&self) -> impl Iterator<Item = &str> {
        self.seen.keys().map(String::as_str)
    }

    /// The largest time of each source, over its occurrences that began within any `window_ns`, summed.
    pub fn within_ns(&self, window_ns: i64) -> i64 {
        self.seen
            .values()
            .map(|recordings| recordings.iter().map(|seen| busiest_ns(seen, window_ns)).max().unwrap_or(0))
            .sum()
    }
}

/// The largest sum over a window that begins with one of the occurrences.
fn busiest_ns(seen: &[(i64, i64)], window_ns: i64) -> i64 {
    let (mut first, mut sum_ns, mut most_ns) = (0, 0i64, 0);
    for &(start_ns, ns) in seen {
        sum_ns = sum_ns.saturating_add(ns);
        while let Some(&(earlier_ns, earlier)) = seen.get(first) {
            if start_ns.saturating_sub(earlier_ns) <= window_ns {
                break;
            }
            sum_ns -= earlier;
            first += 1;
        }
        most_ns = most_ns.max(sum_ns);
    }
    most_ns
}

/// The least L of theorem 8; `None` if it diverges.
pub fn bound_ns(delays: &Delays, interference: &Interference) -> Option<i64> {
    let free_ns = delays.interference_free_ns();
    let mut latency_ns = free_ns;
    while latency_ns <= LATENCY_NS_MAX {
        let next_ns = free_ns.saturating_add(interference.within_ns(latency_ns));
        if next_ns <= latency_ns {
            return Some(latency_ns);
        }
        latency_ns = next_ns;
    }
    None
}

/// Adds the interrupts of the spike's CPU in its snapshot.
pub fn observe(input: &SpikeInput, interference: &mut Interference) {
    let Some(window) = Window::of(input.spike, input.interval_ns) else { return };
    let opened = Recorded::new(input.trace, window);
    if !opened.has_records() {
        return;
    }
    let trace = opened.trace(input, window);
    let Some(activity) = trace.cpu(input.spike.sample.cpu) else { return };
    let mut occurrences: BTreeMap<String, Vec<(i64, i64)>> = BTreeMap::new();
    let mut open: Option<(String, i64)> = None;
    for interval in &activity.intervals {
        let source = match interval.context {
            Context::Nmi { .. } => Some("NMI".to_owned()),
            Context::Irq { irq, .. } => Some(trace.names.irq(irq)),
            Context::Vector { vector, .. } => Some(vector.name().to_owned()),
            _ => None,
        };
        let Some(source) = source else {
            open = None;
            continue;
        };
        let ns = interval.end_ns - interval.start_ns;
        let seen = occurrences.entry(source.clone()).or_default();
        // A function that begins or ends inside it divides an interrupt's intervals, not the interrupt.
        match (&open, seen.last_mut()) {
            (Some((same, end_ns)), Some(last)) if *same == source && *end_ns == interval.start_ns => last.1 += ns,
            _ => seen.push((interval.start_ns, ns)),
        }
        open = Some((source, interval.end_ns));
    }
    for (source, seen) in occurrences {
        interference.add(&source, seen);
    }
    if let Some((first, last)) = activity.intervals.first().zip(activity.intervals.last()) {
        interference.recorded_ns = interference.recorded_ns.max(last.end_ns - first.start_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the paper's figure 24.
    fn paper() -> (Delays, Interference) {
        let delays = Delays { scheduler_tail_ns: 19_312, masked_ns: 22_510, enabled_ns: 0, scheduling_ns: 19_702 };
        let mut interference = Interference::default();
        interference.add("33", vec![(0, 16_914)]);
        interference.add("35", vec![(0, 14_588)]);
        interference.add("236", vec![(0, 20_728), (60_000, 301)]);
        interference.add("246", vec![(0, 3_299)]);
        (delays, interference)
    }

    #[test]
    fn the_example_of_the_paper_comes_out() {
        let (delays, interference) = paper();
        assert_eq!(delays.interference_free_ns(), 42_212);
        assert_eq!(bound_ns(&delays, &Interference::default()), Some(42_212));
        assert_eq!(42_212 + interference.within_ns(42_212), 97_741);
        assert_eq!(bound_ns(&delays, &interference), Some(98_042));
    }

    #[test]
    fn the_example_of_its_tool_comes_out() {
        let delays = Delays { scheduler_tail_ns: 45_883, masked_ns: 56_194, enabled_ns: 5_167, scheduling_ns: 48_092 };
        assert_eq!(delays.interference_free_ns(), 109_453);
    }

    #[test]
    fn a_window_holds_the_busiest_burst_of_one_recording() {
        let mut interference = Interference::default();
        interference.add("irq", vec![(1000, 10), (0, 10), (1100, 10), (5000, 25)]);
        interference.add("irq", vec![(2000, 24)]);
        let within = [0, 100, 1099, 1100, 4000, 5000].map(|window| interference.within_ns(window));
        assert_eq!(within, [25, 25, 25, 30, 45, 55]);
    }

    #[test]
    fn interrupts_without_end_leave_no_bound() {
        let (delays, mut interference) = paper();
        interference.add("storm", (0..2000).map(|at| (at * 100_000, 100_100)).collect());
        assert_eq!(bound_ns(&delays, &interference), None);
    }
}
