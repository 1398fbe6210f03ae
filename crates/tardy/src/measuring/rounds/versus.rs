//! Two variants in rounds: the question of an experiment, and the runs that answer it.

mod question;
mod series;

pub use question::{Journal, Versus};
pub use series::Experiment;
