//! Why a file of a known format cannot be imported.

use super::{FORMATS, ImportFormat};
use roxmltree::Error as XmlError;
use thiserror::Error;
use words::printable::printable;

/// Looks of a file in an unknown format.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Foreign {
    #[error("an empty file")]
    Empty,
    #[error("a web page")]
    WebPage,
    #[error("XML of another program")]
    OtherXml,
    #[error("JSON of another program")]
    OtherJson,
    #[error("binary data")]
    Binary,
    #[error(
        "rows of numbers; if a row is a latency and the count of each CPU, import it with --format histogram-columns"
    )]
    Numbers,
    #[error("text that begins with `{start}`")]
    Text { start: String },
}

/// A missing or invalid value, by its name in the file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Value {
    #[error("`{0}` is missing")]
    Missing(&'static str),
    #[error("`{0}` is not a JSON object")]
    NoObject(&'static str),
    #[error("`{0}` is not a whole number")]
    NotWhole(&'static str),
    #[error("`{0}` is not a number")]
    NoNumber(&'static str),
    #[error("`{0}` is negative")]
    Negative(&'static str),
    #[error("`{attribute}` of an element `{element}` is missing")]
    NoAttribute { attribute: &'static str, element: String },
    #[error("`{attribute}` of an element `{element}` is not a whole number")]
    Attribute { attribute: &'static str, element: String },
    #[error("histogram bucket `{0}` is not a whole number")]
    Bucket(String),
    #[error("the count of histogram bucket {0} is not a whole number")]
    Count(u64),
    #[error("neither `cycles` nor a histogram says how many wake-ups there were")]
    NoCycles,
}

/// Parts that a file of a known format lacks.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Lack {
    #[error("it breaks off in line {line}: the rest is missing")]
    BreaksOff { line: usize },
    /// In the words of the parser.
    #[error("it is not valid JSON: {0}")]
    Json(String),
    #[error("its end, `</rteval>`, is missing")]
    XmlEnd,
    // The parser may quote an end of line.
    #[error("it is not valid XML: {}", printable(&.0.to_string()))]
    Xml(XmlError),
    #[error("its root is `{0}`, not `rteval`")]
    Root(String),
    #[error("it is not a JSON object")]
    NoObject,
    #[error(transparent)]
    Value(#[from] Value),
    #[error("thread {thread}: {value}")]
    OfThread { thread: u32, value: Value },
    #[error("core {core}: {value}")]
    OfCore { core: u32, value: Value },
    #[error("`{0}` is not a thread number")]
    ThreadName(String),
    #[error("thread {0} is not a JSON object")]
    ThreadObject(u32),
    #[error("`{0}` is missing: it holds no latencies")]
    Latencies(&'static str),
    #[error("it holds no interrupt latencies; import it without --series irq")]
    InterruptLatencies,
    #[error("it is of pi_stress, which counts inversions and measures no latencies")]
    PiStress,
    #[error("it holds no threads")]
    NoThreads,
    #[error("its threads are not numbered from 0 on: some are missing")]
    ThreadNumbers,
    #[error("no thread made any cycle: nothing was measured")]
    NothingMeasured,
    #[error("it has no measurement of cyclictest or timerlat")]
    NoMeasurement,
    #[error(
        "its {tool} has no cores: rteval leaves out all statistics when a latency lies beyond its histogram, or when a \
         trace stopped the run"
    )]
    NoCores { tool: String },
    #[error("it mixes the lines of runs that wrote at once: the lines of a run must follow one another")]
    RunsInterleaved,
    #[error("the line `# {0}:` is missing or damaged: the end of the file is lost")]
    Line(&'static str),
    #[error("its lines `# Min`, `# Avg`, `# Max` and `# Histogram Overflows` differ in their columns")]
    Columns,
    #[error("a count of overflows is negative")]
    NegativeOverflows,
    #[error("row {row:06} of its histogram does not fit {threads} threads")]
    Row { row: u64, threads: usize },
    #[error("the rows of its histogram are not in order")]
    RowOrder,
    #[error("the rows of thread {thread} do not add up to its `# Total:`: rows are missing")]
    RowsMissing { thread: usize },
    #[error("its rows and its line `# Total:` are missing: the number of wake-ups is unknown")]
    CountMissing,
    #[error("it has neither a histogram block nor whole `T:` lines: the results are missing")]
    NoResults,
    #[error("it has `T:` lines of {held} threads, but not from 0 on: some are missing")]
    ThreadLines { held: usize },
    #[error("line {line} is not a latency and its counts")]
    NoRow { line: usize },
    #[error("line {line} has another number of columns than the one before")]
    RowColumns { line: usize },
    #[error("line {line} is not above the one before: latencies must ascend")]
    RowsDescend { line: usize },
    #[error("it has no rows")]
    NoRows,
    #[error("the lines `count:` and `max:` below its rows are missing: the end of the file is lost")]
    FiguresMissing,
    #[error("its granularity is `{}`, neither microseconds nor nanoseconds", printable(.0))]
    Granularity(String),
    #[error("it has {cores} cores and {maxima} maxima")]
    Maxima { cores: usize, maxima: usize },
}

/// Why `samples.raw` does not match the file next to it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SamplesLack {
    #[error("it is empty")]
    Empty,
    #[error("its times lie years apart")]
    TimesApart,
    #[error("its last record is cut short")]
    CutShort,
    #[error("record {record} is not a sample of these threads on a little-endian 64-bit machine")]
    NoSample { record: u64 },
}

/// Why a file is not imported. The texts complete "failed to import FILE: ".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FormatError {
    #[error("it looks like {looks_like}{}", other(looks_like))]
    Foreign { looks_like: Foreign },
    #[error("it looks like {}, but {lacks}", .format.title())]
    Unusable { format: &'static dyn ImportFormat, lacks: Lack },
    /// The user named the format: what the file looks like was not examined.
    #[error("it cannot be read as {}: {lacks}", .format.title())]
    Asked { format: &'static dyn ImportFormat, lacks: Lack },
}

/// Files that can be imported instead, unless the sentence already has the next step.
fn other(looks_like: &Foreign) -> String {
    if *looks_like == Foreign::Numbers {
        return String::new();
    }
    let titles: Vec<&str> = FORMATS.iter().map(|format| format.title()).collect();
    format!("; what can be imported is {}", titles.join(", "))
}
