//! Problems of data that a spool cannot keep.

use archive::problem::Problem;
use thiserror::Error;

#[derive(Debug, Error, Problem)]
pub enum SpoolProblem {
    #[error(
        "the room for results on the board was full while the host was away: traces and samples are missing, totals are not"
    )]
    #[problem(
        code = "meter.spool-full",
        meaning = "Results filled the room on the board before the host came back; the largest were left out.",
        fix = "free some room there, name a larger place with `directory`, or raise `spool_mb` in the target file"
    )]
    Full,
    #[error("the host was away for {seconds} s, and the run has no end of its own: it was stopped")]
    #[problem(
        code = "meter.stopped-alone",
        meaning = "A run without a duration lost its host for longer than allowed.",
        fix = "give such a run a --duration"
    )]
    Alone { seconds: u64 },
}
