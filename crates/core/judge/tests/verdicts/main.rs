//! Synthetic runs against limits.

mod coverage;
mod invented;
mod limits;
mod readings;
