//! The clock of a recording beside CLOCK_MONOTONIC, in which timers are set.
//!
//! `hrtimer_expire_entry` has both: `now` was read from CLOCK_MONOTONIC shortly before the event got its time. So each event gives an
//! offset that is a little too small, and the largest of neighbouring ones is the best.

use std::collections::BTreeMap;

/// Longer than any uptime: such a time counts from 1970.
const UPTIME_NS_MAX: i64 = 1 << 59;
/// Two clocks drift apart by a µs in this time.
pub const BIN_NS: i64 = 20_000_000;
/// The next offset that still says something.
const NEAR_BINS: i64 = 50;
const BIN_POINTS_MAX: usize = 32;
/// An hour of one CPU.
const BINS_MAX: usize = 180_000;
/// Timers of other clocks differ from CLOCK_MONOTONIC by far more.
const SAME_CLOCK_NS: i64 = 1_000_000;
/// Time from reading `now` to recording the event.
const READING_NS: i64 = 1_000;
/// Trace clocks that count something else than ns.
const OF_COUNTS: [&str; 4] = ["counter", "x86-tsc", "ppc-tb", "uptime"];

/// How times of a recording become CLOCK_MONOTONIC.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Clock {
    #[default]
    Monotonic,
    Converted(Offsets),
    /// Nothing in the recording relates the two.
    Unrelated,
    /// It counts no ns.
    Counts,
}

/// CLOCK_MONOTONIC minus the trace clock, in ns, by CPU and stretch of 20 ms.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offsets {
    by_bin: BTreeMap<(u32, i64), i64>,
    /// Uncertainty by rounding.
    rounding_ns: i64,
}

/// An offset, and how much those beside it differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    pub ns: i64,
    pub spread_ns: i64,
}

impl Clock {
    /// The offset of a CPU at an instant of the trace clock; `None` if it is unknown there.
    pub fn offset(&self, cpu: u32, ts_ns: i64) -> Option<Offset> {
        match self {
            Self::Monotonic => Some(Offset { ns: 0, spread_ns: 0 }),
            Self::Converted(offsets) => offsets.near(cpu, ts_ns),
            Self::Unrelated | Self::Counts => None,
        }
    }

    /// Times are rounded down to a multiple of this.
    pub fn coarser(&mut self, resolution_ns: u64) {
        if let Self::Converted(offsets) = self {
            offsets.rounding_ns = i64::try_from(resolution_ns).unwrap_or(i64::MAX / 2).saturating_sub(1);
        }
    }

    /// The next known offset, however far away.
    pub fn rough_ns(&self, cpu: u32, ts_ns: i64) -> i64 {
        let known = self.offset(cpu, ts_ns).map(|offset| offset.ns);
        known.or_else(|| if let Self::Converted(offsets) = self { offsets.any(cpu, ts_ns) } else { None }).unwrap_or(0)
    }
}

impl Offsets {
    fn any(&self, cpu: u32, ts_ns: i64) -> Option<i64> {
        let bin = ts_ns.div_euclid(BIN_NS);
        let before = self.by_bin.range(..=(cpu, bin)).next_back();
        let after = self.by_bin.range((cpu, bin)..).next();
        let mut found: Vec<_> = before.into_iter().chain(after).collect();
        found.sort_unstable_by_key(|((of, at), _)| (*of != cpu, (at - bin).abs()));
        found.first().map(|(_, ns)| **ns)
    }

    fn near(&self, cpu: u32, ts_ns: i64) -> Option<Offset> {
        let bin = ts_ns.div_euclid(BIN_NS);
        let beside = self.by_bin.range((cpu, bin - NEAR_BINS)..=(cpu, bin + NEAR_BINS));
        let mut beside: Vec<(i64, i64)> = beside.map(|((_, at), ns)| ((at - bin).abs(), *ns)).collect();
        beside.sort_unstable_by_key(|(distance, ns)| (*distance, -ns));
        beside.truncate(3);
        let ns = beside.iter().map(|(_, ns)| *ns).max()?;
        let least_ns = beside.iter().map(|(_, ns)| *ns).min()?;
        Some(Offset { ns, spread_ns: ns.saturating_sub(least_ns).saturating_add(READING_NS + self.rounding_ns) })
    }
}

/// Offsets while they are collected, of each CPU in order of time.
#[derive(Debug, Default)]
pub struct ClockPoints {
    by_bin: BTreeMap<(u32, i64), i64>,
    /// Only stretches with a multiple of this number are kept; 0 stands for 1.
    stride: i64,
    /// The stretch that is being read.
    open: Option<(u32, i64)>,
    points: Vec<i64>,
}

impl ClockPoints {
    /// `now_ns`: the time of the timer's own clock when it expired.
    pub fn add(&mut self, cpu: u32, ts_ns: i64, now_ns: i64) {
        if !(1..UPTIME_NS_MAX).contains(&now_ns) {
            return;
        }
        let bin = (cpu, ts_ns.div_euclid(BIN_NS));
        if self.open != Some(bin) {
            self.close();
            self.open = Some(bin);
        }
        if self.points.len() < BIN_POINTS_MAX {
            self.points.push(now_ns.saturating_sub(ts_ns));
        }
    }

    /// A long recording keeps fewer stretches: offsets between two of them are then less certain.
    fn close(&mut self) {
        let points = std::mem::take(&mut self.points);
        let Some((bin, ns)) = self.open.take().zip(largest(points)) else { return };
        if bin.1 % self.stride.max(1) == 0 {
            let known = self.by_bin.entry(bin).or_insert(ns);
            if ns.abs_diff(*known) <= SAME_CLOCK_NS as u64 {
                *known = ns.max(*known);
            }
        }
        if self.by_bin.len() > BINS_MAX {
            self.stride = self.stride.max(1).saturating_mul(2);
            let stride = self.stride;
            self.by_bin.retain(|(_, bin), _| bin % stride == 0);
        }
    }

    /// The clock of a recording with this name.
    pub fn clock(mut self, name: &str) -> Clock {
        if OF_COUNTS.contains(&name) {
            return Clock::Counts;
        }
        if name == "mono" {
            return Clock::Monotonic;
        }
        self.close();
        let by_bin = self.by_bin;
        if by_bin.is_empty() { Clock::Unrelated } else { Clock::Converted(Offsets { by_bin, rounding_ns: 0 }) }
    }
}

/// The largest of the offsets of one clock; most timers use CLOCK_MONOTONIC.
fn largest(mut points: Vec<i64>) -> Option<i64> {
    points.sort_unstable();
    let median = *points.get(points.len() / 2)?;
    points.into_iter().filter(|ns| ns.abs_diff(median) <= SAME_CLOCK_NS as u64).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_offset_nearby_counts_and_its_neighbours_give_the_spread() {
        let mut points = ClockPoints::default();
        for (ts_ns, now_ns) in [(1_000, 5_400), (2_000, 6_500), (3_000, 7_100), (25_000_000, 25_004_300)] {
            points.add(1, ts_ns, now_ns);
        }
        // A timer of CLOCK_BOOTTIME, and one of CLOCK_REALTIME.
        points.add(1, 4_000, 9_000_000_000);
        points.add(1, 4_000, 1 << 60);
        let clock = points.clock("local");
        assert_eq!(clock.offset(1, 2_500), Some(Offset { ns: 4_500, spread_ns: 1_200 }));
        assert_eq!(clock.offset(1, 60_000_000_000), None);
        assert_eq!(clock.offset(0, 2_500), None);
    }

    #[test]
    fn a_clock_is_known_by_its_name_or_by_the_timers() {
        assert_eq!(ClockPoints::default().clock("mono"), Clock::Monotonic);
        assert_eq!(ClockPoints::default().clock("local"), Clock::Unrelated);
        assert_eq!(ClockPoints::default().clock("x86-tsc"), Clock::Counts);
    }
}
