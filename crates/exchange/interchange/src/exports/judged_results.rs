//! Documents of judged results, among them those of steps that were not run.

use super::{ExportError, ExportFormat, ExportInput, ExportOption};
use crate::results::RunResults;
use std::io::Write;

/// A format of a test system.
#[derive(Debug)]
pub struct JudgedResults {
    pub name: &'static str,
    pub about: &'static str,
    pub file_name: &'static str,
    pub takes_several: bool,
    pub options: &'static [&'static ExportOption],
    pub document: fn(&ExportInput<'_>, &[RunResults]) -> Result<Vec<u8>, ExportError>,
}

impl ExportFormat for JudgedResults {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn options(&self) -> &'static [&'static ExportOption] {
        self.options
    }

    fn takes_several(&self) -> bool {
        self.takes_several
    }

    fn includes_missing(&self) -> bool {
        true
    }

    fn is_judged(&self) -> bool {
        true
    }

    fn file_name(&self, _: &ExportInput<'_>) -> Result<String, ExportError> {
        Ok(self.file_name.into())
    }

    fn write(&self, input: &ExportInput<'_>, out: &mut (dyn Write + Send)) -> Result<(), ExportError> {
        Ok(out.write_all(&(self.document)(input, &input.results()?)?)?)
    }
}
