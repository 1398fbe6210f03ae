//! Queries of pages. None of them opens an archive; sizes of answers are bounded.

pub mod board;
pub mod board_state;
pub mod compared;
pub mod counts;
pub mod culprits;
pub mod fleet;
pub mod kernels;
pub mod news;
pub mod run;
pub mod series;
pub mod silence;
