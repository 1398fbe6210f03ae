//! Deviations of runs from the expected results of a system in virtual time.

use crate::difference::Difference;
use crate::figure_name::FigureName;
use crate::virtual_time::{Cause, DriftKind};
use archive::problem::Remark;

/// Whether a seed ran with loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Guest {
    Idle,
    Loaded,
}

/// The change of a figure that does not fail.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tolerance {
    Nanoseconds(i64),
    /// Of the expected figure.
    Percent(f64),
}

/// One deviation.
#[derive(Debug, Clone, PartialEq)]
pub enum Deviation {
    /// A figure over the seeds, in ns.
    Figure {
        guest: Guest,
        figure: FigureName,
        before_ns: i64,
        now_ns: i64,
        tolerance: Tolerance,
    },
    NewCause {
        cause: Cause,
        longest_ns: i64,
        seeds: usize,
    },
    CauseLength {
        cause: Cause,
        longest_ns: i64,
        before_ns: i64,
    },
    GoneCause(Cause),
    /// The runs have other seeds than the baseline.
    Seeds {
        guest: Guest,
        expected: Vec<u64>,
        seen: Vec<u64>,
    },
    /// A setting of the runs of these seeds (`a`) differs from the baseline's (`b`).
    Setting {
        guest: Guest,
        difference: Difference,
        seeds: Vec<u64>,
    },
    /// A run that is not valid, for these reasons, or not in virtual time (`None`).
    Unusable {
        archive: String,
        invalid_because: Option<Vec<Remark>>,
    },
}

impl Deviation {
    pub fn kind(&self) -> DriftKind {
        match self {
            Self::Figure { .. } => DriftKind::Figure,
            Self::NewCause { .. } | Self::CauseLength { .. } | Self::GoneCause(_) => DriftKind::Cause,
            Self::Seeds { .. } | Self::Setting { .. } | Self::Unusable { .. } => DriftKind::Plan,
        }
    }

    /// Whether it exceeds the tolerance. Causes never do: which ones the worst samples have changes with every trajectory.
    pub fn fails(&self) -> bool {
        match self {
            Self::Figure { before_ns, now_ns, tolerance, .. } => {
                let most_ns = match tolerance {
                    Tolerance::Nanoseconds(ns) => *ns as f64,
                    Tolerance::Percent(percent) => *before_ns as f64 * percent / 100.0,
                };
                now_ns.saturating_sub(*before_ns).unsigned_abs() as f64 > most_ns
            }
            _ => self.kind() == DriftKind::Plan,
        }
    }
}
