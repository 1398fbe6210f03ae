//! Claims about runs as typed facts: verdicts, proofs, comparisons, histories, experiments, and the limits that users write.
//!
//! `judge` computes them, `words` says them. Nothing here computes or formats, but for names under which a fact is stored.

#![deny(clippy::disallowed_methods)]

pub mod baseline;
pub mod causes;
pub mod difference;
pub mod difference_kind;
pub mod doubt;
pub mod experiment;
pub mod extrapolation;
pub mod figure_name;
pub mod history;
pub mod interval;
pub mod length;
pub mod limit;
pub mod metric;
pub mod observer;
pub mod proof;
pub mod run_name;
pub mod unit;
pub mod uses;
pub mod verdict;
pub mod virtual_time;
