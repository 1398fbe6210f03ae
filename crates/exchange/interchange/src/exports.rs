//! Exports of a run to the formats of other programs, one file per format.

pub mod comma_separated;
pub mod execution_map;
pub mod perfetto;
mod protobuf;
#[cfg(feature = "parquet")]
pub mod samples_parquet;
