//! Why a method cannot measure.

use crate::journal::JournalError;
use archive::method::Method;
use archive::method::state::Obstacle;
use archive::problem::{Code, ProblemKind};
use std::io;

/// What is missing, or what the kernel rejected.
#[derive(Debug, thiserror::Error)]
pub enum MethodError {
    #[error("the method {method} cannot run here: {}", texts(obstacles))]
    Impossible { method: Method, obstacles: Vec<Obstacle> },
    #[error("the method {method} failed to {action}: {source}")]
    Refused { method: Method, action: &'static str, source: io::Error },
    #[error("this meter does not know the method {request}, or an option of it")]
    OfAnotherVersion { request: String },
    #[error(transparent)]
    Journal(#[from] JournalError),
}

problem_codes! { MethodError:
    Impossible => "meter.method-impossible", "The machine lacks something that the method needs.",
        "`tardy methods NAME` shows what the method needs and what is missing";
    Refused => "meter.method-refused", "The kernel refused something that the method needs.", "";
    OfAnotherVersion => "meter.method-of-another-version", "The host asked for a method, or an option of one, that the meter does not have.",
        "use the meter of the same version as tardy";
    Journal => "meter.method-not-journalled", "A change that the method makes could not be written down first.",
        "set TARDY_STATE_DIR to a directory that can be written";
}

fn texts(obstacles: &[Obstacle]) -> String {
    obstacles.iter().map(|obstacle| obstacle.text.as_str()).collect::<Vec<_>>().join("; ")
}

impl ProblemKind for MethodError {
    fn code(&self) -> Code {
        self.code_of_variant()
    }

    fn fix(&self) -> String {
        let fixes: Vec<&str> = match self {
            Self::Impossible { obstacles, .. } => obstacles.iter().map(|obstacle| obstacle.fix.as_str()).collect(),
            _ => Vec::new(),
        };
        let mut fixes: Vec<&str> = fixes.into_iter().filter(|fix| !fix.is_empty()).collect();
        fixes.dedup();
        if fixes.is_empty() { self.fix_of_variant() } else { fixes.join("; ") }
    }
}
