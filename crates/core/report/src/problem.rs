//! Omissions of a page, by their code.

use archive::problem::{Code, Definition, ProblemKind};
use std::fmt;

/// Something a page omits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Omission {
    /// This number of CPUs is omitted from a picture.
    Cpus(usize),
}

impl fmt::Display for Omission {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Cpus(count) = self;
        write!(out, "this picture leaves out {count} other CPUs to keep the file small; `tardy explain` shows them")
    }
}

impl ProblemKind for Omission {
    fn code(&self) -> Code {
        let Self::Cpus(_) = self;
        Code::new("report.cpus-left-out")
    }
}

/// Every code of this crate.
pub const DEFINITIONS: &[Definition] = &[Definition {
    code: "report.cpus-left-out",
    meaning: "A page shows many spikes of a machine with many CPUs; pictures of the smaller spikes show the late CPU only.",
    fix: "Use `tardy explain` on the spike to see all CPUs.",
}];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_defined() {
        assert!(DEFINITIONS.iter().any(|definition| Omission::Cpus(1).code() == definition.code));
    }
}
