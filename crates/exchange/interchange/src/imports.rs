//! Imports results of other tools as a [`source::Source`]: one file for each format, one line for each in [`FORMATS`].
//!
//! Nothing here reads a file or a clock. A format reports what it contains and what it lacks; [`account`] converts that
//! to the totals and histograms of an archive, and never fills a gap with a guess.

pub mod account;
pub mod archived;
mod cyclictest_lines;
mod cyclictest_text;
mod detect;
mod histogram_columns;
mod jitterdebugger;
mod kernel_banner;
pub mod lack;
mod log_runs;
mod number_row;
pub mod problem;
mod rt_dataset;
mod rt_tests_json;
mod rteval;
mod rtla_text;
mod samples_raw;
pub mod source;
mod verbose_samples;
mod wall_clock;

pub use detect::Head;
pub use lack::{FormatError, Lack};
use source::{Series, Source, SourceThread, Unit};
use std::fmt::Debug;
use std::io::{self, Read, Seek};

/// Larger files are not results of these tools.
pub const FILE_BYTES_MAX: u64 = 256 << 20;

/// A format of result files, recognised by contents and not by name.
pub trait ImportFormat: Debug + Sync {
    /// The name for `--format` and in the archive.
    fn name(&self) -> &'static str;

    /// Description of files of this format, for help.
    fn about(&self) -> &'static str;

    /// Names a file of this format in a sentence.
    fn title(&self) -> &'static str;

    /// Whether a file that begins like this has the format.
    fn detects(&self, head: &Head<'_>) -> bool;

    /// Parses the text of a file; several runs in their order.
    ///
    /// # Errors
    /// The parts that the file lacks.
    fn read(&self, text: &str, hints: &Hints) -> Result<Vec<Source>, Lack>;

    /// Whether files of this format may hold latencies of the timer interrupt beside the thread's.
    fn separates_interrupts(&self) -> bool {
        false
    }

    /// A file that the tool writes beside its result.
    fn companion(&self) -> Option<Companion> {
        None
    }
}

/// A file with more about the run of another.
#[derive(Debug, Clone, Copy)]
pub struct Companion {
    pub file_name: &'static str,
    /// Adds its data to those of the result; fails if it cannot be read.
    pub add: fn(&mut Source, &mut dyn ReadSeek) -> io::Result<()>,
}

/// A file in which places are found again.
pub trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

/// Every format, in the order of the help. The first that detects a file reads it.
pub const FORMATS: &[&dyn ImportFormat] = &[
    &rt_tests_json::RtTestsJson,
    &cyclictest_text::CyclictestText,
    &rtla_text::RtlaText,
    &rt_dataset::RtDataset,
    &jitterdebugger::Jitterdebugger,
    &rteval::Rteval,
    &histogram_columns::HistogramColumns,
];

impl PartialEq for dyn ImportFormat {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn ImportFormat {}

/// Facts that the user gives because the file does not.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hints {
    pub format: Option<&'static dyn ImportFormat>,
    /// For formats that do not state it.
    pub unit: Option<Unit>,
    pub series: Series,
}

/// Parses the contents of one file: its runs in order, at least one.
///
/// # Errors
/// [`FormatError`], one line with what the file looks like and what is missing.
pub fn read(bytes: &[u8], hints: &Hints) -> Result<Vec<Source>, FormatError> {
    let format = match hints.format {
        Some(format) => format,
        None => detect::format_of(bytes).map_err(|looks_like| FormatError::Foreign { looks_like })?,
    };
    let unusable = |lacks| match hints.format {
        Some(format) => FormatError::Asked { format, lacks },
        None => FormatError::Unusable { format, lacks },
    };
    if hints.series == Series::Irq && !format.separates_interrupts() {
        return Err(unusable(Lack::InterruptLatencies));
    }
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}');
    let mut sources = format.read(text, hints).map_err(unusable)?;
    let count = sources.len();
    if count == 0 || sources.iter().flat_map(|source| &source.threads).all(SourceThread::is_empty) {
        return Err(unusable(Lack::NothingMeasured));
    }
    for (number, source) in (1..).zip(&mut sources).filter(|_| count > 1) {
        source.stated(format!("run {number} of {count} in the file"));
    }
    Ok(sources)
}
