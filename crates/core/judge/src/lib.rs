//! Decides what may be claimed from archives.
//!
//! A figure of one run is an observation. This crate determines what may be claimed from it and with which guarantee,
//! and refuses with a reason if nothing may be claimed. docs/explanation/judging.md explains each claim and its
//! conditions.
//!
//! * [`figures`] reduces a run to the values that comparisons use. [`sign_flip`] compares paired rounds of runs in an
//!   order decided by a [`coin`]. [`observer`] applies both to the cost of tracing, [`experiment`] to two variants of
//!   anything, with a [`paired_test`] that outlier runs do not blind, [`multiplicity`] for many figures and an
//!   [`e_process`] for repeated evaluation.
//! * [`bounds`] bounds the rate of events, [`mean_share`] the mean of shares of any distribution. [`lateness`]
//!   separates what is certain about each second from what is possible, [`memory`] finds how long independent stretches
//!   of time are, [`occasions`] groups late wake-ups that come together, [`verdict`] judges a run by a limit.
//! * [`criteria`] parses the pass criteria of Fuego.
//! * [`proof`](mod@proof) determines what a run proves by its length, [`length`] how long one must be.
//! * [`stationarity`] tests whether a series is stationary; [`extremes`] extrapolates from one that is.
//! * [`step`] defines the verdicts of the steps of a plan.
//! * [`history`] finds where a series of runs changed.
//! * [`bisect`] searches an ordered list for its first bad candidate, with a bound on the error of all steps together.
//! * [`uses`] judges a run by the common uses of a machine: audio, machine tools, printers, frames.
//! * [`tune`] finds which of many settings help: a screening that claims nothing, then proof on fresh runs.
//! * [`virtual_time`] compares measurements in virtual time, which are reproducible.
//! * [`compare`] compares two runs without a verdict, [`causes`] the causes of their late wake-ups, [`difference`]
//!   everything else.
//!
//! The results are types of the crate `claims`, and the crate `words` says them. Nothing here does I/O, reads a clock, or draws a random number that the caller did not seed.

#![deny(clippy::disallowed_methods)]

pub mod bisect;
pub mod blocks;
pub mod bounds;
pub mod causes;
pub mod caution;
pub mod coin;
pub mod compare;
pub mod criteria;
pub mod difference;
pub mod e_process;
pub mod experiment;
pub mod extremes;
pub mod figures;
pub mod history;
pub mod lateness;
pub mod length;
pub mod machine;
pub mod mean_share;
pub mod median;
pub mod memory;
pub mod multiplicity;
mod neighbour_ranks;
pub mod observer;
pub mod occasions;
mod optimum;
pub mod paired_test;
mod power;
pub mod proof;
pub mod quantile;
pub mod readings;
pub mod refusal;
pub mod sign_flip;
mod sign_test;
pub mod stationarity;
pub mod step;
pub mod tune;
pub mod uses;
pub mod verdict;
pub mod virtual_time;
