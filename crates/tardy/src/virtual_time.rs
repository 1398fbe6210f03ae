//! Runs in virtual time: made one after the other, made again to be recorded, and held against a baseline.

pub mod baseline;
pub mod laboratory;
pub mod recording;
pub mod seed_runs;
