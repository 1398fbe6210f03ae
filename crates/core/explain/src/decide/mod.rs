//! Decides whether the findings suffice: for one wake-up, and for all of a run.

mod ordinary_share;
pub mod run_analysis;
mod unrecorded;
pub mod verdict;
