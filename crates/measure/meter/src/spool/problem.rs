//! Problems of data that a spool cannot keep.

use archive::problem::{Code, ProblemKind};

#[derive(Debug, thiserror::Error)]
pub enum SpoolProblem {
    #[error(
        "the room for results on the board was full while the host was away: traces and samples are missing, totals are not"
    )]
    Full,
    #[error("the host was away for {seconds} s, and the run has no end of its own: it was stopped")]
    Alone { seconds: u64 },
}

problem_codes! { SpoolProblem:
    Full => "meter.spool-full", "Results filled the room on the board before the host came back; the largest were left out.",
        "free some room there, name a larger place with `directory`, or raise `spool_mb` in the target file";
    Alone => "meter.stopped-alone", "A run without a duration lost its host for longer than allowed.",
        "give such a run a --duration";
}

impl ProblemKind for SpoolProblem {
    fn code(&self) -> Code {
        self.code_of_variant()
    }

    fn fix(&self) -> String {
        self.fix_of_variant()
    }
}
