//! Every sample of a run as Parquet, if this program was built with it.

#[cfg(feature = "parquet")]
mod rows;

use super::{ExportError, ExportFormat, ExportInput};
#[cfg(feature = "parquet")]
pub use rows::ParquetExportError;
use std::io::Write;

#[derive(Debug)]
pub struct Parquet;

impl ExportFormat for Parquet {
    fn name(&self) -> &'static str {
        "parquet"
    }

    fn about(&self) -> &'static str {
        "Every sample, for DuckDB, pandas and Polars (of a run with --every-sample)"
    }

    fn file_name(&self, _: &ExportInput<'_>) -> Result<String, ExportError> {
        Ok("samples.parquet".into())
    }

    #[cfg(feature = "parquet")]
    fn write(&self, input: &ExportInput<'_>, out: &mut (dyn Write + Send)) -> Result<(), ExportError> {
        use crate::results::RunResults;
        use archive::summary::RunSummary;

        let run = input.run();
        let results = RunResults::of(RunSummary::of(run, &[]), run.planned.as_ref(), Vec::new());
        match rows::write(run, &results.circumstances(), out) {
            Err(ParquetExportError::NoSamples) if results.summary.imported.is_some() => {
                Err(ExportError::NotInImport { format: self.name(), lacks: "time of each sample" })
            }
            written => Ok(written?),
        }
    }

    #[cfg(not(feature = "parquet"))]
    fn write(&self, input: &ExportInput<'_>, _: &mut (dyn Write + Send)) -> Result<(), ExportError> {
        Err(ExportError::WithoutParquet(input.run().directory.clone()))
    }
}
