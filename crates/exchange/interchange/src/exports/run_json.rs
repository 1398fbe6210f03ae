//! Everything that a report shows of a run, as one JSON document.

use super::{ExportError, ExportFormat, ExportInput};
use crate::json;
use std::io::Write;

#[derive(Debug)]
pub struct RunJson;

impl ExportFormat for RunJson {
    fn name(&self) -> &'static str {
        "json"
    }

    fn about(&self) -> &'static str {
        "Figures, histograms, seconds, spikes and explanations in one JSON document"
    }

    fn file_name(&self, _: &ExportInput<'_>) -> Result<String, ExportError> {
        Ok("run.json".into())
    }

    fn write(&self, input: &ExportInput<'_>, out: &mut (dyn Write + Send)) -> Result<(), ExportError> {
        Ok(out.write_all(&json::line(&input.account().report_data())?)?)
    }
}
