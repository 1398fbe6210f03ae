//! The host command line: run, explain, report, restore.
//!
//! A presenter decides nothing: causes come from `explain`, and what a run is comes from `archive`.

#[macro_use]
mod text;

pub mod cli;
mod explaining;
mod judging;
mod kernel_tracer_text;
mod progress;
mod summary_text;
mod watched_text;
