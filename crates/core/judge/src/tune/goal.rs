//! The figure that tuning lowers.

use crate::experiment::samples_needed;
use crate::figures::{all_periods, quantile_ns};
use archive::reader::Run;
use claims::figure_name::FigureName;
use claims::unit::Unit;
use serde::{Deserialize, Serialize};
use std::str::FromStr;
use thiserror::Error;

const NS_PER_HOUR: f64 = 3.6e12;

/// The figure of each run that tuning lowers. One run's largest lateness decides nothing: every figure is compared over
/// many runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// A quantile of all periods, missed ones included, in ns.
    Quantile(FigureName),
    /// The largest lateness, in ns.
    Worst,
    /// Periods later than the run's limit, per hour.
    OverLimit,
}

/// A word that is not a goal.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("write p50, p99, p99.9, p99.99, p99.999, worst or over/h")]
pub struct UnknownGoal;

impl FromStr for Goal {
    type Err = UnknownGoal;

    /// The words with which users ask for a goal.
    fn from_str(word: &str) -> Result<Self, UnknownGoal> {
        match word {
            "worst" | "max" => Ok(Self::Worst),
            "over/h" => Ok(Self::OverLimit),
            word => {
                let quantile = FigureName::QUANTILES.into_iter().find(|(name, _)| name.to_string() == word);
                quantile.map(|(name, _)| Self::Quantile(name)).ok_or(UnknownGoal)
            }
        }
    }
}

impl Goal {
    pub fn unit(&self) -> Unit {
        match self {
            Self::Quantile(_) | Self::Worst => Unit::Nanoseconds,
            Self::OverLimit => Unit::PerHour,
        }
    }

    /// Samples that a run needs for the figure.
    pub fn samples_needed(&self) -> f64 {
        match self {
            Self::Quantile(name) => {
                let share = FigureName::QUANTILES.iter().find(|(other, _)| other == name).map_or(0.5, |(_, q)| *q);
                samples_needed(share)
            }
            Self::Worst | Self::OverLimit => 1.0,
        }
    }

    /// The figure of a run of this length; `None` without samples. Half an event is added to the number over the limit, so
    /// that a run without any has a logarithm.
    pub fn value(&self, run: &Run, measured_ns: u64) -> Option<f64> {
        let value = match self {
            Self::Quantile(name) => {
                let (_, q) = FigureName::QUANTILES.into_iter().find(|(other, _)| other == name)?;
                quantile_ns(&all_periods(run), q)?
            }
            Self::Worst => run.threads.values().filter_map(|thread| thread.totals.latency_ns_max).max()? as f64,
            Self::OverLimit => {
                let deciding = run.threads.values().filter(|thread| run.decides(thread.thread));
                let over = deciding.fold(0u64, |sum, thread| sum.saturating_add(thread.totals.over_limit));
                (over as f64 + 0.5) / (measured_ns as f64 / NS_PER_HOUR)
            }
        };
        (value > 0.0 && value.is_finite()).then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::reader::ThreadRun;
    use archive::sample::Totals;

    #[test]
    fn goals_are_asked_for_in_the_words_of_limits() {
        assert_eq!("p99.9".parse(), Ok(Goal::Quantile(FigureName::P99_9)));
        assert_eq!("worst".parse(), Ok(Goal::Worst));
        assert_eq!("over/h".parse(), Ok(Goal::OverLimit));
        assert_eq!("p98".parse::<Goal>(), Err(UnknownGoal));
        assert_eq!("p99.9".parse::<Goal>().unwrap().samples_needed(), 50_000.0);
    }

    #[test]
    fn a_run_without_a_late_wake_up_has_a_logarithm() {
        let mut run = Run::default();
        let totals = Totals { cycles: 10, latency_ns_max: Some(900), ..Totals::default() };
        run.threads.insert(0, ThreadRun { totals, ..ThreadRun::default() });
        assert_eq!(Goal::OverLimit.value(&run, 3_600_000_000_000), Some(0.5));
        assert_eq!(Goal::Worst.value(&run, 1), Some(900.0));
        assert_eq!(Goal::Quantile(FigureName::P50).value(&Run::default(), 1), None);
    }
}
