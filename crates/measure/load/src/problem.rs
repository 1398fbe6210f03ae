//! Problems of loads, with codes.

use super::builtin;
use super::program::Unusable;
use archive::problem::{Code, Definition, ProblemKind};
use std::fmt;
use std::io;

/// Why a load could not be started.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("start a load called `{name}`: no such load; the built-in loads are {}", builtin::names_joined())]
    Unknown { name: String },
    #[error("start the load `{name}`: this machine has no program `{program}`; {fix}")]
    NoProgram { name: String, program: &'static str, fix: &'static str },
    #[error("start the load `{name}`: {source}")]
    Unusable { name: String, source: Unusable },
    #[error("start a load command: the command line is empty; write what the shell should run")]
    EmptyCommand,
    #[error("share memory with the load `{name}`")]
    Counters { name: String, source: io::Error },
    #[error("find a place for the files of the load `{name}`; set TMPDIR to a directory with room")]
    Place { name: String, source: io::Error },
    #[error("start the load `{name}` from {executable}")]
    Spawn { name: String, executable: String, source: io::Error },
}

impl ProblemKind for LoadError {
    fn code(&self) -> Code {
        match self {
            Self::Unknown { .. } | Self::EmptyCommand => Code::new("load.unknown"),
            Self::NoProgram { .. } => Code::new("load.no-program"),
            Self::Unusable { .. } => Code::new("load.unusable"),
            Self::Place { .. } => Code::new("load.no-room"),
            Self::Counters { .. } | Self::Spawn { .. } => Code::new("load.not-started"),
        }
    }

    /// The sentences of the others name it.
    fn fix(&self) -> String {
        match self {
            Self::Unknown { .. } | Self::EmptyCommand => {
                "`tardy load list` lists the loads; --load-cmd takes a command line".into()
            }
            _ => String::new(),
        }
    }
}

/// Why a started load does not work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// Its progress stopped for this time.
    Stalled { seconds: u64 },
    /// Its supervisor ended, with these last lines on standard error.
    Died { stderr: String },
    /// Its supervisor was killed.
    Killed { signal: i32, stderr: String },
    /// It was stopped before it reported any work.
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
        match self.failure {
            Failure::Stalled { .. } => Code::new("load.stalled"),
            Failure::Died { .. } | Failure::Killed { .. } => Code::new("load.died"),
            Failure::NoResult => Code::new("load.no-result"),
        }
    }

    fn fix(&self) -> String {
        "run it alone with `tardy-meter load` to see why".into()
    }
}

/// Every code of this crate.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        code: "load.unknown",
        meaning: "The run asks for a load that does not exist, or for an empty command.",
        fix: "`tardy load list` shows the loads; --load-cmd takes a command line.",
    },
    Definition {
        code: "load.no-program",
        meaning: "The target does not have the program that the load runs.",
        fix: "Install the program on the target, or choose a built-in load.",
    },
    Definition {
        code: "load.unusable",
        meaning: "An option of the load names a file that the target does not have, or one that the program cannot use.",
        fix: "Name a file on the target by its whole path; the message says what is wrong with it.",
    },
    Definition {
        code: "load.no-room",
        meaning: "No directory for temporary files on the target is writable and has room for the files of the load.",
        fix: "Set TMPDIR on the target to a directory with room, or ask for fewer workers.",
    },
    Definition {
        code: "load.not-started",
        meaning: "The process of the load could not be started.",
        fix: "The message has the error of the system: too many processes, too little memory, or a sandbox that forbids \
              to start programs.",
    },
    Definition {
        code: "load.died",
        meaning: "A load ended, or its supervisor was killed, before the run was over: the figures are not those of the \
                  machine under this load.",
        fix: "Run it alone with `tardy-meter load NAME` on the target to see why.",
    },
    Definition {
        code: "load.stalled",
        meaning: "A load made no progress for seconds: it hangs, waits, or gets no CPU time beside tasks of real-time \
                  priority.",
        fix: "Leave a CPU to ordinary tasks, or run the load alone with `tardy-meter load NAME` to see why.",
    },
    Definition {
        code: "load.no-result",
        meaning: "A program ran until the end of the run, but finished no round and did not report what it did when it was \
                  interrupted.",
        fix: "Ask for shorter rounds (`time=` or `ops=`), or run longer.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_defined() {
        let other = || io::Error::other("x");
        let name = || "x".to_owned();
        let errors = [
            LoadError::Unknown { name: name() },
            LoadError::NoProgram { name: name(), program: "x", fix: "x" },
            LoadError::Unusable { name: name(), source: Unusable::NotCalibrated { path: name() } },
            LoadError::EmptyCommand,
            LoadError::Counters { name: name(), source: other() },
            LoadError::Place { name: name(), source: other() },
            LoadError::Spawn { name: name(), executable: name(), source: other() },
        ];
        let failures = [
            Failure::Stalled { seconds: 2 },
            Failure::Died { stderr: String::new() },
            Failure::Killed { signal: 9, stderr: String::new() },
            Failure::NoResult,
        ];
        let broken = failures.map(|failure| BrokenLoad { name: name(), failure });
        let codes: Vec<Code> =
            errors.iter().map(|error| error.code()).chain(broken.iter().map(|load| load.code())).collect();
        for code in &codes {
            assert!(DEFINITIONS.iter().any(|definition| *code == definition.code), "{code}");
        }
        for definition in DEFINITIONS {
            assert!(codes.iter().any(|code| *code == definition.code), "{} is never used", definition.code);
        }
    }

    #[test]
    fn a_killed_supervisor_is_quoted() {
        let killed = |stderr: &str| Failure::Killed { signal: 9, stderr: stderr.into() }.to_string();
        assert_eq!(killed(""), "its supervisor was killed by signal 9");
        assert_eq!(killed("no memory"), "its supervisor was killed by signal 9; no memory");
    }
}
