//! The files of a program, which the caller reads.

/// The files of the machine that ran the program.
pub trait Files {
    /// The contents of a file; `None` if it cannot be read.
    fn read(&mut self, path: &str) -> Option<Vec<u8>>;
}
