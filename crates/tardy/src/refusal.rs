//! Why a verb did nothing, as a value: the code, the words and the fix that `--json` prints.

use crate::exit::{ProgramError, UsageError, in_words};
use crate::mcp::problem::RequestProblem;
use crate::nothing_measured::NothingMeasured;
use account::brief::short::Short;
use archive::problem::{Code, Problem, ProblemKind};
use archive::reader::OpenError;
use archive::write_error::WriteError;
use machines::TargetError;
use runner::run::RunError;
use serde::Serialize;
use thiserror::Error;

/// An error that does not belong to a run, with its text. The text names the fix.
#[derive(Debug, Error, Problem)]
pub enum Failure {
    /// An error that clap reports.
    #[error("{0}")]
    #[problem(
        code = "usage.command-line",
        meaning = "The command line has an option, a value or a verb that does not exist, or lacks one.",
        fix = "",
        documented_fix = "see `tardy VERB --help`"
    )]
    CommandLine(String),
    #[error("{0}")]
    #[problem(
        code = "usage.refused",
        meaning = "The command line names something that does not exist, or combines options that do not fit together.",
        fix = "",
        documented_fix = "the text says what to write instead"
    )]
    Refused(String),
    #[error("{0}")]
    #[problem(
        code = "usage.no-such-archive",
        meaning = "RUN names a directory that does not exist.",
        fix = "",
        documented_fix = "`tardy list` shows the runs"
    )]
    NoSuchArchive(String),
    #[error("{0}")]
    #[problem(
        code = "usage.not-an-archive",
        meaning = "RUN names a directory without the files of a run.",
        fix = "",
        documented_fix = "`tardy list` shows the runs"
    )]
    NotAnArchive(String),
    #[error("{0}")]
    #[problem(
        code = "usage.archive-exists",
        meaning = "The directory for the archive exists and is not empty. Nothing is overwritten.",
        fix = "",
        documented_fix = "choose another --out, or remove the directory"
    )]
    ArchiveExists(String),
    #[error("{0}")]
    #[problem(
        code = "host.publication-refused",
        meaning = "A publication is not as a trusted key signed it: changed, cut, extended, signed by another key, or \
                   something else.",
        fix = "",
        documented_fix = "get the file, or the public key, from its publisher again"
    )]
    PublicationRefused(String),
    #[error("{0}")]
    #[problem(
        code = "host.archive-unreadable",
        meaning = "The file system refused to read an archive.",
        fix = "",
        documented_fix = "look at permissions, and at the kernel log"
    )]
    ArchiveUnreadable(String),
    #[error("{0}")]
    #[problem(
        code = "host.archive-not-written",
        meaning = "The file system refused to write an archive.",
        fix = "",
        documented_fix = "free some space, or choose another --out"
    )]
    ArchiveNotWritten(String),
    /// A panic of this program.
    #[error("a defect of tardy; standard error says where")]
    #[problem(
        code = "host.defect",
        meaning = "tardy panicked. The archive that it was writing is closed as failed.",
        fix = "",
        documented_fix = "please report the line that tardy printed"
    )]
    Defect,
    #[error("{0}")]
    #[problem(
        code = "host.failed",
        meaning = "An operation on this machine failed for a reason that has no code of its own.",
        fix = "",
        documented_fix = "the text names the cause"
    )]
    Other(String),
}

/// A watched program that ended too early.
#[derive(Debug, Error, Problem)]
#[error("no thread of the program slept and woke up while it was watched")]
#[problem(
    code = "host.nothing-woke",
    meaning = "No thread of the watched program slept and woke up, so there is nothing to measure: the program ended too \
               early, or it polls, as programs of DPDK do.",
    fix = "watch it for longer; if it polls, `tardy run --method noise` measures what takes its CPU"
)]
pub struct NothingWoke;

/// The document that `--json` prints instead of a result.
#[derive(Debug, Serialize)]
pub struct Document {
    error: Body,
}

#[derive(Debug, Serialize)]
struct Body {
    code: Code,
    text: String,
    /// How to fix it; empty if the text says so.
    fix: String,
}

impl Document {
    pub fn new(kind: &impl ProblemKind) -> Self {
        Self { error: Body { code: kind.code(), text: kind.to_string().trim().into(), fix: kind.fix() } }
    }

    pub fn of(error: &anyhow::Error) -> Self {
        if let Some(NothingMeasured { problem, .. }) = error.downcast_ref() {
            let Problem { code, text, fix, .. } = problem.clone();
            return Self { error: Body { code, text, fix } };
        }
        if let Some(problem) = error.downcast_ref::<RequestProblem>() {
            return Self::new(problem);
        }
        match (error.downcast_ref(), error.downcast_ref::<TargetError>()) {
            (Some(RunError::Target(target)), _) | (_, Some(target)) => Self::new(target),
            _ => Self::new(&Failure::of(error)),
        }
    }
}

impl Document {
    /// The same with texts that fit an answer of 2 kB.
    pub fn brief(self) -> Self {
        let Body { code, text, fix } = self.error;
        let cut = |text: &str| Short::message(text).as_str().to_owned();
        Self { error: Body { code, text: cut(&text), fix: cut(&fix) } }
    }
}

impl Failure {
    fn of(error: &anyhow::Error) -> Self {
        let write = match error.downcast_ref() {
            Some(RunError::Write(write)) => Some(write),
            _ => error.downcast_ref::<WriteError>(),
        };
        let failure = match (error.downcast_ref(), write) {
            (Some(OpenError::Missing(_)), _) => Self::NoSuchArchive,
            (Some(OpenError::Foreign(_)), _) => Self::NotAnArchive,
            (Some(OpenError::Io { .. }), _) => Self::ArchiveUnreadable,
            (None, Some(WriteError::Exists(_))) => Self::ArchiveExists,
            (None, Some(WriteError::Io { .. })) => Self::ArchiveNotWritten,
            #[cfg(feature = "lab")]
            (None, None) if error.is::<publication::verification::VerificationError>() => Self::PublicationRefused,
            (None, None) if error.is::<UsageError>() || error.is::<ProgramError>() => Self::Refused,
            (None, None) => Self::Other,
        };
        failure(in_words(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::problem::Severity;

    fn shown(error: impl Into<anyhow::Error>) -> serde_json::Value {
        serde_json::to_value(Document::of(&error.into())).unwrap()
    }

    #[test]
    fn errors_have_the_code_of_their_cause() {
        let path = || std::path::PathBuf::from("x");
        for (error, code) in [
            (shown(UsageError("no".into())), "usage.refused"),
            (shown(OpenError::Missing(path())), "usage.no-such-archive"),
            (shown(OpenError::Foreign(path())), "usage.not-an-archive"),
            (shown(RunError::Write(WriteError::Exists(path()))), "usage.archive-exists"),
            (shown(anyhow::anyhow!("no")), "host.failed"),
        ] {
            assert_eq!(error["error"]["code"], code);
        }
    }

    #[test]
    fn a_run_without_a_sample_keeps_the_code_and_the_fix_of_its_problem() {
        let problem = Problem {
            code: Code::new("meter.cpus-not-allowed"),
            severity: Severity::Invalid,
            text: "CPU 7 is not there".into(),
            fix: "choose 0 or 1".into(),
        };
        let error = NothingMeasured { problem, kept: String::new(), command: None };
        assert!(error.is_usage());
        let text = error.to_string();
        assert!(text.starts_with("CPU 7 is not there; choose 0 or 1; "), "{text}");
        let document = shown(error);
        assert_eq!(document["error"]["code"], "meter.cpus-not-allowed");
        assert_eq!(document["error"]["fix"], "choose 0 or 1");
    }
}
