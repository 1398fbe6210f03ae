//! Problems of loads, with codes.

use super::builtin;
use super::program::Unusable;
use archive::problem::{Code, Problem, ProblemKind};
use std::fmt;
use std::io;
use thiserror::Error;

/// Why a load could not be started.
#[derive(Debug, Error, Problem)]
pub enum LoadError {
    #[error("start a load called `{name}`: no such load; the built-in loads are {}", builtin::names_joined())]
    #[problem(
        code = "load.unknown",
        meaning = "The run asks for a load that does not exist, or for an empty command.",
        fix = "`tardy list loads` lists the loads; --load-cmd takes a command line",
        documented_fix = "`tardy list loads` shows the loads; --load-cmd takes a command line"
    )]
    Unknown { name: String },
    #[error("start the load `{name}`: this machine has no program `{program}`; {fix}")]
    #[problem(
        code = "load.no-program",
        meaning = "The target does not have the program that the load runs.",
        fix = "",
        documented_fix = "install the program on the target, or choose a built-in load"
    )]
    NoProgram { name: String, program: &'static str, fix: &'static str },
    #[error("start the load `{name}`")]
    #[problem(
        code = "load.unusable",
        meaning = "An option of the load names a file that the target does not have, or one that the program cannot \
                   use.",
        fix = "",
        documented_fix = "name a file on the target by its whole path; the message says what is wrong with it"
    )]
    Unusable { name: String, source: Unusable },
    #[error("start a load command: the command line is empty; write what the shell should run")]
    #[problem(same_as = Unknown)]
    EmptyCommand,
    #[error("share memory with the load `{name}`")]
    #[problem(
        code = "load.not-started",
        meaning = "The process of the load could not be started.",
        fix = "",
        documented_fix = "the message has the error of the system: too many processes, too little memory, or a \
                          sandbox that forbids to start programs"
    )]
    Counters { name: String, source: io::Error },
    #[error("find a place for the files of the load `{name}`; set TMPDIR to a directory with room")]
    #[problem(
        code = "load.no-room",
        meaning = "No directory for temporary files on the target is writable and has room for the files of the load.",
        fix = "",
        documented_fix = "set TMPDIR on the target to a directory with room, or ask for fewer workers"
    )]
    Place { name: String, source: io::Error },
    #[error("start the load `{name}` from {executable}")]
    #[problem(same_as = Counters)]
    Spawn { name: String, executable: String, source: io::Error },
}

/// Why a started load does not work.
#[derive(Debug, Clone, PartialEq, Eq, Problem)]
pub enum Failure {
    /// Its progress stopped for this time.
    #[problem(
        code = "load.stalled",
        meaning = "A load made no progress for seconds: it hangs, waits, or gets no CPU time beside tasks of \
                   real-time priority.",
        fix = RUN_ALONE,
        documented_fix = "leave a CPU to ordinary tasks, or run the load alone with `tardy-meter load NAME` to see why"
    )]
    Stalled { seconds: u64 },
    /// Its supervisor ended, with these last lines on standard error.
    #[problem(
        code = "load.died",
        meaning = "A load ended, or its supervisor was killed, before the run was over: the figures do not describe \
                    the machine under this load.",
        fix = RUN_ALONE,
        documented_fix = "run it alone with `tardy-meter load NAME` on the target to see why"
    )]
    Died { stderr: String },
    /// Its supervisor was killed.
    #[problem(same_as = Died)]
    Killed { signal: i32, stderr: String },
    /// It was stopped before it reported any work.
    #[problem(
        code = "load.no-result",
        meaning = "A program ran until the end of the run, but finished no round and did not report what it did when \
                   it was interrupted.",
        fix = RUN_ALONE,
        documented_fix = "ask for shorter rounds (`time=` or `ops=`), or run longer"
    )]
    NoResult,
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stalled { seconds } => write!(out, "no progress for {seconds} s"),
            Self::Died { stderr } if stderr.is_empty() => out.write_str("it ended"),
            Self::Died { stderr } => out.write_str(stderr),
            Self::Killed { signal, stderr } => {
                let separator = if stderr.is_empty() { "" } else { "; " };
                write!(out, "its supervisor was killed by signal {signal}{separator}{stderr}")
            }
            Self::NoResult => out.write_str(
                "it finished no round and did not report what it did when it was interrupted; ask for shorter rounds, or \
                 run longer",
            ),
        }
    }
}

/// A load that does not work as requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenLoad {
    pub name: String,
    pub failure: Failure,
}

impl fmt::Display for BrokenLoad {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the load {} stopped working during the run ({})", self.name, self.failure)
    }
}

impl ProblemKind for BrokenLoad {
    fn code(&self) -> Code {
        self.failure.code()
    }

    fn fix(&self) -> String {
        self.failure.fix()
    }
}

const RUN_ALONE: &str =
    "run the load alone to see why: `tardy-meter load NAME`, or a command in a shell; --keep-going measures to the end";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_killed_supervisor_is_quoted() {
        let killed = |stderr: &str| Failure::Killed { signal: 9, stderr: stderr.into() }.to_string();
        assert!(killed("").ends_with(" signal 9"), "{}", killed(""));
        assert_eq!(killed("no memory"), killed("") + "; no memory");
    }
}
