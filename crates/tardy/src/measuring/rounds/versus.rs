//! Two variants in rounds: what an experiment asks, and the runs that answer it.

mod question;
mod series;

pub use question::{Journal, Versus};
pub use series::Experiment;
