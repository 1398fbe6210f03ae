//! Decides whether the findings suffice: for one wake-up, and for all of a run.

pub mod run_analysis;
pub mod verdict;
