//! Synthetic runs against limits.

mod coverage;
mod invented;
mod limits;
mod long_lateness;
mod readings;
mod room_to_spare;
