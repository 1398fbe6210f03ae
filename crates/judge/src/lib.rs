//! Archives in, what their numbers prove out.
//!
//! A number of one run is an observation. This crate says what may be claimed from it, with which guarantee, and refuses
//! with a reason where nothing may be claimed. docs/explanation/judging.md explains each claim and its conditions.
//!
//! * [`figures`] takes the one number of a run that a comparison uses; [`sign_flip`] compares paired rounds of runs whose
//!   order a [`coin`] decided; [`observer`] applies both to what tracing costs, [`experiment`] to two variants of
//!   anything, with [`multiplicity`] for many figures and an [`e_process`] for many looks.
//! * [`bounds`] says how often something happens at most, [`mean_share`] bounds shares of any distribution, [`lateness`] says what
//!   is certain of each second and what may be, [`memory`] how long independent stretches of time are, [`occasions`] what comes at
//!   once, [`limit`] reads what must hold, [`verdict`] says whether a run shows it.
//! * [`criteria`] reads what Fuego's files say must hold.
//! * [`proof`](mod@proof) says what a run proves by its length, [`length`] how long one must be.
//! * [`stationarity`] asks whether a series stays what it is; [`extremes`] extrapolates from one that does.
//! * [`step`] says what came out of the steps of a plan.
//! * [`history`] finds where a series of runs changed.
//! * [`bisect`] searches an ordered list for its first bad one, with a bound on the error of all steps together.
//! * [`virtual_time`] compares what was measured in virtual time, where the same always gives the same.
//! * [`compare`] sets two runs side by side without a verdict, [`causes`] what made their wake-ups late, [`difference`] says
//!   in what else they differ.
//!
//! Nothing here does I/O, reads a clock, or draws a random number that the caller did not seed.

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
pub mod difference_kind;
pub mod e_process;
pub mod experiment;
pub mod extremes;
pub mod figure_name;
pub mod figures;
pub mod history;
pub mod lateness;
pub mod length;
pub mod limit;
pub mod machine;
pub mod mean_share;
pub mod memory;
pub mod multiplicity;
pub mod observer;
pub mod occasions;
mod optimum;
mod power;
pub mod problem;
pub mod proof;
pub mod quantile;
pub mod refusal;
pub mod sign_flip;
pub mod stationarity;
pub mod step;
pub mod unit;
pub mod verdict;
pub mod virtual_time;
