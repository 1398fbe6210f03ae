//! Whether instants have a rhythm.
//!
//! Each tested period maps time to a circle of phases. Instants that follow each other within half a period have one
//! vote, the direction of their mean, so that a burst does not count as a rhythm. Votes of random instants are uniform
//! on the circle, and two tests check whether these are: Rayleigh's, which tolerates outliers, and the length of the
//! shortest arc that contains them all, which needs fewer. Every test counts: a period is reported only if its
//! probability, times the number of tests, is below [`LEVEL`].

use archive::causes::{Period, Rhythm};
use std::f64::consts::TAU;

/// Probability of reporting a period for random instants, for one group of spikes.
const LEVEL: f64 = 1e-3;
/// With fewer votes no period is reported.
pub const VOTES_MIN: usize = 5;
/// A period must be this many times the interval of the samples, or its phases are those of the sampling.
const INTERVALS_MIN: i64 = 10;
/// The instants must span this many periods.
const PERIODS_MIN: f64 = 5.0;
/// Maximum number of instants that are used.
const INSTANTS_MAX: usize = 300;
/// Maximum number of frequencies in a scan, and of steps between two of them around a promising one.
const SCAN_STEPS_MAX: usize = 10_000;
const FINE_STEPS: usize = 16;
/// Frequencies per independent frequency.
const OVERSAMPLING: f64 = 4.0;
/// Tests per period.
const TESTS: f64 = 2.0;
/// Known periods and the scan share the level.
const HALVES: f64 = 2.0;
/// A scanned period counts as a known one if they differ by less than this fraction.
const SAME: f64 = 0.01;

/// Periods of activities that every kernel has.
fn known(tick_hz: Option<u32>) -> Vec<(i64, &'static str)> {
    let tick = tick_hz.filter(|hz| *hz > 0).map(|hz| (1_000_000_000 / i64::from(hz), "the tick"));
    let others = [
        (500_000_000, "the clocksource watchdog"),
        (1_000_000_000, "work done once a second (statistics of memory, the budget of real-time threads)"),
        (4_000_000_000, "the lockup watchdog"),
        (5_000_000_000, "work done every 5 s (the writer of dirty pages)"),
        (10_000_000_000, "work done every 10 s"),
        (60_000_000_000, "work done once a minute"),
        (600_000_000_000, "the check of the TSC"),
    ];
    tick.into_iter().chain(others).collect()
}

/// The rhythm of instants in ascending order; `interval_ns` is that of the samples they were taken from.
pub fn rhythm(instants_ns: &[i64], interval_ns: u64, tick_hz: Option<u32>) -> Rhythm {
    let step = instants_ns.len().div_ceil(INSTANTS_MAX).max(1);
    let instants: Vec<i64> = instants_ns.iter().copied().step_by(step).collect();
    let (Some(&first), Some(&last)) = (instants.first(), instants.last()) else { return Rhythm::TooFew };
    let span_ns = last.saturating_sub(first) as f64;
    if instants.len() < VOTES_MIN || span_ns <= 0.0 {
        return Rhythm::TooFew;
    }
    let row = Row {
        first_ns: first,
        offsets_ns: instants.iter().map(|ns| ns.saturating_sub(first) as f64).collect(),
        span_ns,
        resolution_ns: interval_ns as f64,
        shortest_ns: (interval_ns as i64).saturating_mul(INTERVALS_MIN).max(1) as f64,
    };
    let known = known(tick_hz);
    let exact = row.exact(&known).filter(|found| found.p < LEVEL);
    let scanned = row.scanned().filter(|found| found.p < LEVEL);
    // An event every 4 s also occurs at one phase of each second: the longest period is the most specific.
    let longest = match (exact, scanned) {
        (Some(exact), Some(scanned)) if scanned.period_ns > exact.period_ns * (1.0 + SAME) => Some(scanned),
        (exact, scanned) => exact.or(scanned),
    };
    longest.map_or(Rhythm::None, |found| Rhythm::Period(row.period_of(found, &known)))
}

/// Instants and the bounds of their detectable periods.
struct Row {
    first_ns: i64,
    offsets_ns: Vec<f64>,
    span_ns: f64,
    /// Resolution of the instants, in ns.
    resolution_ns: f64,
    shortest_ns: f64,
}

/// A period with its corrected probability.
#[derive(Debug, Clone, Copy)]
struct Found {
    period_ns: f64,
    p: f64,
}

/// The votes on one period.
struct Votes {
    /// Phases from 0 to 1.
    phases: Vec<f64>,
    /// Sum of the unit vectors of the phases.
    sum: (f64, f64),
}

impl Row {
    fn is_possible(&self, period_ns: f64) -> bool {
        period_ns >= self.shortest_ns && period_ns * PERIODS_MIN <= self.span_ns
    }

    /// The longest known period that passes, or else the most probable one.
    fn exact(&self, known: &[(i64, &str)]) -> Option<Found> {
        let possible: Vec<f64> = known.iter().map(|(ns, _)| *ns as f64).filter(|ns| self.is_possible(*ns)).collect();
        let corrected = possible.len() as f64 * TESTS * HALVES;
        let mut found: Vec<Found> = possible
            .iter()
            .filter_map(|&period_ns| Some(Found { period_ns, p: (self.p(period_ns)? * corrected).min(1.0) }))
            .collect();
        found.sort_by(|one, other| one.period_ns.total_cmp(&other.period_ns));
        found.iter().rfind(|found| found.p < LEVEL).or(found.first()).copied()
    }

    /// The most regular period of all.
    fn scanned(&self) -> Option<Found> {
        let step = 1.0 / (OVERSAMPLING * self.span_ns);
        let lowest = PERIODS_MIN / self.span_ns;
        let steps = (((1.0 / self.shortest_ns - lowest) / step).max(0.0) as usize).min(SCAN_STEPS_MAX);
        let mut best: Option<(f64, f64)> = None;
        for index in 0..steps {
            let frequency = lowest + index as f64 * step;
            let Some(votes) = self.votes(1.0 / frequency) else { continue };
            let ln_p = votes.ln_p_rayleigh();
            // From low to high: a harmonic must be clearly better to replace its fundamental.
            if best.is_none_or(|(known, _)| ln_p < known - 1.0) {
                best = Some((ln_p, frequency));
            }
        }
        let (_, coarse) = best?;
        let corrected = steps as f64 * (2 * FINE_STEPS + 1) as f64 * TESTS * HALVES;
        let fine = (0..=2 * FINE_STEPS).map(|at| coarse + (at as f64 / FINE_STEPS as f64 - 1.0) * step);
        let found = fine.filter_map(|frequency| {
            let period_ns = 1.0 / frequency;
            Some(Found { period_ns, p: self.p(period_ns)? })
        });
        let best = found.min_by(|one, other| one.p.total_cmp(&other.p))?;
        Some(Found { p: (best.p * corrected).min(1.0), ..best })
    }

    /// Probability of votes at least as regular, the better of both tests, uncorrected.
    fn p(&self, period_ns: f64) -> Option<f64> {
        let votes = self.votes(period_ns)?;
        Some(votes.ln_p_rayleigh().exp().min(votes.p_arc(self.resolution_ns / period_ns)))
    }

    /// `None` if there are too few.
    fn votes(&self, period_ns: f64) -> Option<Votes> {
        let mut votes = Votes { phases: Vec::new(), sum: (0.0, 0.0) };
        let mut previous_ns = f64::NEG_INFINITY;
        let mut mean = (0.0, 0.0);
        for &offset_ns in &self.offsets_ns {
            if offset_ns - previous_ns >= period_ns / 2.0 {
                votes.count(mean);
                mean = (0.0, 0.0);
            }
            previous_ns = offset_ns;
            let (sine, cosine) = ((offset_ns / period_ns).fract() * TAU).sin_cos();
            mean = (mean.0 + cosine, mean.1 + sine);
        }
        votes.count(mean);
        (votes.phases.len() >= VOTES_MIN).then_some(votes)
    }

    fn period_of(&self, found: Found, known: &[(i64, &str)]) -> Period {
        let votes = self.votes(found.period_ns);
        let (phase, times) = votes.map_or((0.0, 0), |votes| (votes.mean_phase(), votes.phases.len()));
        let period_ns = found.period_ns.round() as i64;
        let same = |ns: i64| (found.period_ns - ns as f64).abs() <= ns as f64 * SAME;
        Period {
            period_ns,
            phase_ns: self
                .first_ns
                .saturating_add((phase * found.period_ns) as i64)
                .checked_rem_euclid(period_ns)
                .unwrap_or(0),
            p: found.p,
            times: times as u32,
            known_as: known.iter().find(|(ns, _)| same(*ns)).map_or_else(String::new, |(_, name)| (*name).to_owned()),
        }
    }
}

impl Votes {
    /// A burst votes for the mean direction of its instants, if they have one.
    fn count(&mut self, mean: (f64, f64)) {
        let length = mean.0.hypot(mean.1);
        if length < 1e-9 {
            return;
        }
        let unit = (mean.0 / length, mean.1 / length);
        self.sum = (self.sum.0 + unit.0, self.sum.1 + unit.1);
        self.phases.push((unit.1.atan2(unit.0) / TAU).rem_euclid(1.0));
    }

    fn mean_phase(&self) -> f64 {
        (self.sum.1.atan2(self.sum.0) / TAU).rem_euclid(1.0)
    }

    /// Logarithm of the probability of a resultant at least as long (Rayleigh; the approximation of Wilkie 1983).
    fn ln_p_rayleigh(&self) -> f64 {
        let count = self.phases.len() as f64;
        let resultant = self.sum.0.hypot(self.sum.1).min(count);
        (1.0 + 4.0 * count + 4.0 * (count * count - resultant * resultant)).sqrt() - (1.0 + 2.0 * count)
    }

    /// Probability that all votes are within an arc at most as long as theirs: n a^(n-1), exact for arcs up to a half.
    /// The arc is the largest that is compatible with a resolution of `resolution` of a turn.
    fn p_arc(&self, resolution: f64) -> f64 {
        let mut phases = self.phases.clone();
        phases.sort_by(f64::total_cmp);
        let (Some(first), Some(last)) = (phases.first(), phases.last()) else { return 1.0 };
        let around = first + 1.0 - last;
        let gap = phases.windows(2).map(|pair| pair[1] - pair[0]).fold(around, f64::max);
        let arc = 1.0 - gap + resolution;
        let count = phases.len() as f64;
        if arc > 0.5 { 1.0 } else { (count * arc.powf(count - 1.0)).min(1.0) }
    }
}

#[cfg(test)]
mod tests;
