//! Why a call is refused, as a value.

use super::line::LINE_BYTES_MAX;
use archive::problem::Problem;
use thiserror::Error;

/// A refused call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Error, Problem)]
pub enum RequestProblem {
    #[error("the path is not below the directories of this server: {directories}")]
    #[problem(
        code = "mcp.outside",
        meaning = "A client of `tardy mcp` named a path outside of the directories that the server was started with, or a link \
                   out of them.",
        fix = "name a run of `list_runs`, or start the server with that directory: tardy mcp DIR"
    )]
    Outside { directories: String },
    #[error("there is no {name} below the directories of this server: {directories}")]
    #[problem(
        code = "mcp.no-such-path",
        meaning = "A client of `tardy mcp` named a run or a file that does not exist.",
        fix = "`list_runs` has the runs"
    )]
    NoSuchPath { name: String, directories: String },
    #[error("the argument `{name}` {wrong}")]
    #[problem(
        code = "mcp.argument",
        meaning = "An argument of a tool is missing, unknown, or has another type or a value out of range.",
        fix = "see the input schema of the tool"
    )]
    Argument { name: String, wrong: String },
    #[error("a message has more than {} kB", LINE_BYTES_MAX >> 10)]
    #[problem(
        code = "mcp.message-too-long",
        meaning = "A client of `tardy mcp` sent a longer line than any call needs.",
        fix = "send the path of a file, not its contents"
    )]
    MessageTooLong,
    #[error("the file has more than {} MB", bytes_max >> 20)]
    #[problem(
        code = "mcp.file-too-large",
        meaning = "A recording is larger than an answer in seconds allows.",
        fix = "record a shorter time, or explain it on the command line: tardy explain FILE --json --brief"
    )]
    FileTooLarge { bytes_max: u64 },
    #[error("the answer took longer than {seconds} s")]
    #[problem(
        code = "mcp.timeout",
        meaning = "A call of a tool took too long, and its answer is dropped.",
        fix = "ask on the command line, which has no limit of time"
    )]
    Timeout { seconds: u64 },
    #[error("{calls} calls are in progress")]
    #[problem(
        code = "mcp.busy",
        meaning = "A client of `tardy mcp` made more calls at a time than the server answers, or a second measurement.",
        fix = "wait for an answer"
    )]
    Busy { calls: usize },
    #[error("the measurement failed: {0}")]
    #[problem(
        code = "mcp.measurement-failed",
        meaning = "`tardy run`, which the tool `measure` starts, measured nothing.",
        fix = "",
        documented_fix = "the text names the cause"
    )]
    MeasurementFailed(String),
}
