//! The static target binary: measure, load, trace, snapshot.

pub mod environment;
pub mod load;
