//! The files of a program, which the caller reads.

/// The files of the machine that ran the program.
pub trait Files {
    /// The contents of a file; `None` if it cannot be read.
    fn read(&mut self, path: &str) -> Option<Vec<u8>>;

    /// The contents of the file with a build id, where the machine's files were stored by it. They may be another file's.
    fn of_build(&mut self, build_id: &str) -> Option<Vec<u8>> {
        let _ = build_id;
        None
    }
}
