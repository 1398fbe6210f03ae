//! Exports of runs to the formats of other programs: one file for each format or family, one line for each in [`FORMATS`].

mod comma_separated;
mod error;
mod execution_map;
mod fuego;
mod input;
mod judged_results;
mod junit;
mod kcidb;
mod lava;
mod markdown;
mod option;
mod parquet_samples;
mod perfetto;
mod prometheus;
mod protobuf;
pub mod published_results;
mod run_json;
mod spike_choice;
mod squad;
mod storage_svg;
mod tap;
mod trace_dat;

pub use error::ExportError;
pub use input::{ExportInput, ExportedRun, Judge};
pub(crate) use junit::escaped;
pub use option::{ExportOption, FileText, OptionForm, OptionValue, Options, options};
use std::fmt::Debug;
use std::io::Write;

/// A format of `tardy export`.
pub trait ExportFormat: Debug + Sync {
    /// The word for `--format`.
    fn name(&self) -> &'static str;

    /// A line of help.
    fn about(&self) -> &'static str;

    /// Options that have a meaning for this format; all others are refused.
    fn options(&self) -> &'static [&'static ExportOption] {
        &[]
    }

    /// Whether one document holds several runs.
    fn takes_several(&self) -> bool {
        false
    }

    /// Whether a step of a plan that was not run is part of the document.
    fn includes_missing(&self) -> bool {
        false
    }

    /// Whether limits judge the runs.
    fn is_judged(&self) -> bool {
        false
    }

    /// Name of the file, unless the user names one.
    ///
    /// # Errors
    /// If the options name something that the run does not have.
    fn file_name(&self, input: &ExportInput<'_>) -> Result<String, ExportError>;

    /// Writes the document.
    ///
    /// # Errors
    /// [`ExportError`]; what was written until then is no document.
    fn write(&self, input: &ExportInput<'_>, out: &mut (dyn Write + Send)) -> Result<(), ExportError>;
}

/// Every format, in the order of the help.
pub const FORMATS: &[&dyn ExportFormat] = &[
    &perfetto::Perfetto,
    &trace_dat::TraceDat,
    &run_json::RunJson,
    &comma_separated::HISTOGRAM,
    &comma_separated::WORST,
    &comma_separated::SECONDS,
    &comma_separated::COUNTERS,
    &execution_map::MapSvg,
    &storage_svg::StorageSvg,
    &parquet_samples::Parquet,
    &junit::JUNIT,
    &tap::TAP,
    &tap::KTAP,
    &lava::SIGNALS,
    &lava::RESULT_LINES,
    &kcidb::KCIDB,
    &squad::TESTS,
    &squad::METRICS,
    &squad::METADATA,
    &fuego::FUEGO,
    &prometheus::PROMETHEUS,
    &markdown::MARKDOWN,
    &published_results::TABLE,
    &published_results::JSON,
];
