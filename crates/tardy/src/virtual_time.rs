//! Runs in virtual time: run in sequence, repeated for recording, and compared with a baseline.

pub mod baseline;
pub mod laboratory;
pub mod recording;
pub mod seed_runs;
