//! A run in the formats of other programs, one file for each format.

pub mod comma_separated;
pub mod perfetto;
mod protobuf;
#[cfg(feature = "parquet")]
pub mod samples_parquet;
