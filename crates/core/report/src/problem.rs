//! Omissions of a page, by their code.

use archive::problem::Problem;
use thiserror::Error;

/// Something a page omits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error, Problem)]
pub enum Omission {
    /// This number of CPUs is omitted from a picture.
    #[error("this picture leaves out {0} other CPUs to keep the file small; `tardy explain` shows them")]
    #[problem(
        code = "report.cpus-left-out",
        meaning = "A page shows many spikes of a machine with many CPUs; pictures of the smaller spikes show the late \
                   CPU only.",
        fix = "use `tardy explain` on the spike to see all CPUs"
    )]
    Cpus(usize),
}
