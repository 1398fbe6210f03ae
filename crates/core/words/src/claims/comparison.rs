//! Two runs side by side, of which none is a verdict.

/// The limits of one run each, shown wherever two runs are shown.
pub const NO_VERDICT: &str = "One run each is not a verdict; `tardy experiment` gives one. Two runs of the same machine \
    usually differ by 10 to 20 % in p99.99.";

/// The reason that two runs give no interval for the cost of a change.
pub const WORK_NO_INTERVAL: &str = "Work of the loads per second, from their start to the end of the measurement. One run each does \
     not show how much of a difference is scatter; `tardy experiment` measures the scatter and gives an interval.";
