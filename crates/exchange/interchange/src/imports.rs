//! Imports results of other tools as a [`source::Source`]. One file per format.
//!
//! Nothing here reads a file or a clock. A format reports what it contains and what it lacks; [`account`] converts that
//! to the totals and histograms of an archive, and never fills a gap with a guess.

pub mod account;
pub mod archived;
pub mod cyclictest_lines;
pub mod cyclictest_text;
mod detect;
pub mod histogram_columns;
pub mod jitterdebugger;
pub mod lack;
pub mod problem;
pub mod rt_tests_json;
pub mod rteval;
pub mod samples_raw;
pub mod source;
mod wall_clock;

pub use lack::FormatError;
use lack::Lack;
use source::{Series, Source, SourceThread, Unit};

/// Larger files are not results of these tools.
pub const FILE_BYTES_MAX: u64 = 256 << 20;

/// The format of a file, independent of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    RtTestsJson,
    CyclictestText,
    Jitterdebugger,
    Rteval,
    HistogramColumns,
}

impl Format {
    pub const ALL: [Self; 5] =
        [Self::RtTestsJson, Self::CyclictestText, Self::Jitterdebugger, Self::Rteval, Self::HistogramColumns];

    /// The name for `--format` and in the archive.
    pub fn name(self) -> &'static str {
        match self {
            Self::RtTestsJson => "rt-tests-json",
            Self::CyclictestText => "cyclictest-text",
            Self::Jitterdebugger => "jitterdebugger",
            Self::Rteval => "rteval",
            Self::HistogramColumns => "histogram-columns",
        }
    }

    /// Description of files of this format, for help.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::RtTestsJson => "`--json` of cyclictest and its relatives, and rtla results in the same form",
            Self::CyclictestText => "What cyclictest prints: histogram blocks of -h, -H, --histfile, or `T:` lines",
            Self::Jitterdebugger => "results.json of jitterdebugger, with samples.raw beside it",
            Self::Rteval => "summary.xml of rteval",
            Self::HistogramColumns => "Rows of a latency and the count of each CPU, as latency plots are drawn from",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::RtTestsJson => "JSON of rt-tests",
            Self::CyclictestText => "text of cyclictest",
            Self::Jitterdebugger => "results.json of jitterdebugger",
            Self::Rteval => "summary.xml of rteval",
            Self::HistogramColumns => "columns of a histogram",
        }
    }
}

/// What the user specifies because the file does not.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hints {
    pub format: Option<Format>,
    /// For formats that do not state it.
    pub unit: Option<Unit>,
    pub series: Series,
}

/// Parses the contents of one file.
///
/// # Errors
/// [`FormatError`], one line with what the file looks like and what is missing.
pub fn read(bytes: &[u8], hints: &Hints) -> Result<Source, FormatError> {
    let format = match hints.format {
        Some(format) => format,
        None => detect::format_of(bytes).map_err(|looks_like| FormatError::Foreign { looks_like })?,
    };
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}');
    let read = match format {
        Format::RtTestsJson => rt_tests_json::read(text, hints),
        Format::CyclictestText => cyclictest_text::read(text, hints),
        Format::Jitterdebugger => jitterdebugger::read(text),
        Format::Rteval => rteval::read(text),
        Format::HistogramColumns => histogram_columns::read(text, hints),
    };
    let source = read.map_err(|lacks| FormatError::Unusable { format, lacks })?;
    if source.threads.iter().all(SourceThread::is_empty) {
        return Err(FormatError::Unusable { format, lacks: Lack::NothingMeasured });
    }
    Ok(source)
}
