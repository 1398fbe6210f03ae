//! Why a run cannot be exported.

#[cfg(feature = "parquet")]
use super::parquet_samples::ParquetExportError;
use archive::reader::OpenError;
use judge::criteria::CriteriaError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;
use words::spikes::numbers;

#[derive(Debug, Error)]
pub enum ExportError {
    #[error("this run has no spike {number}; its spikes: {}", numbers(has))]
    NoSpike { number: u32, has: Vec<u32> },
    #[error("this run has no snapshot")]
    NoSnapshot,
    #[error("a trace.dat holds one spike; name it by its number")]
    OneSpike,
    #[error("failed to use {}: {why}", path.display())]
    Criteria { path: PathBuf, why: CriteriaError },
    #[error("{0}")]
    Limit(String),
    #[error("failed to export {format}: the run was imported, and its source kept no {lacks}")]
    NotInImport { format: &'static str, lacks: &'static str },
    #[error("failed to draw storage latency: no block requests are recorded; measure with --method storage")]
    NoBlockRequests,
    #[error(transparent)]
    ExecutionMap(#[from] ExecutionMapError),
    #[cfg(feature = "parquet")]
    #[error(transparent)]
    Parquet(#[from] ParquetExportError),
    #[error("this tardy was built without Parquet, so it cannot export {}; use the one that `make build` builds", .0.display())]
    WithoutParquet(PathBuf),
    #[error(transparent)]
    Archive(#[from] OpenError),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("failed to write the document: {0}")]
    Output(#[from] io::Error),
}

impl ExportError {
    /// Whether other options avoid the error.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::NoSpike { .. } | Self::NoSnapshot | Self::OneSpike | Self::Criteria { .. } | Self::Limit(_) => true,
            #[cfg(feature = "parquet")]
            Self::Parquet(_) => false,
            Self::NoBlockRequests
            | Self::NotInImport { .. }
            | Self::WithoutParquet(_)
            | Self::ExecutionMap(_)
            | Self::Archive(_)
            | Self::Json(_)
            | Self::Output(_) => false,
        }
    }
}

/// Why there is no picture of an execution map.
#[derive(Debug, Error)]
pub enum ExecutionMapError {
    #[error("failed to draw the execution map: this run has another method; measure with --method map")]
    OtherMethod,
    #[error("failed to draw the execution map: this run kept no samples; measure with --every-sample")]
    NoSamples,
    #[error("failed to read samples: {0}")]
    Samples(#[from] io::Error),
}
