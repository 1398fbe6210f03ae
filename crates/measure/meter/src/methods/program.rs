//! The contract of a program that makes the requests of a run in place of its measuring threads.

use archive::message::{FileKind, Problem};

/// A program that makes the requests of a run.
pub trait RequestingProgram: Send + Sync {
    /// The threads that it has now; none before it is started and after it ended.
    fn threads(&self) -> Vec<i32>;

    /// How long it may take to end.
    fn ending_ns(&self) -> i64;

    /// Why it failed.
    fn failure(&self) -> Option<Problem>;

    /// Its files for the archive, complete once it has ended.
    fn result(&self) -> Option<(FileKind, Vec<u8>)>;
}
