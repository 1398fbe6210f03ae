//! Writes a stream.

use super::header::encode;
use super::{BLOCK, END_BLOCKS, PackedError, PackedFile, check_name, padding};
use std::io::{self, Read, Write};

/// A stream that is being written. It is whole after [`PackedWriter::end`].
#[derive(Debug)]
pub struct PackedWriter<W> {
    sink: W,
    before: Option<String>,
}

impl<W: Write> PackedWriter<W> {
    pub fn new(sink: W) -> Self {
        Self { sink, before: None }
    }

    /// Writes a file.
    ///
    /// # Errors
    /// If its name is not one inside of an archive, or not after the one before; [`PackedError::Changed`] if it does not have so
    /// many bytes; those of either side.
    pub fn file(&mut self, file: &PackedFile, contents: impl Read) -> Result<(), PackedError> {
        check_name(&file.name, self.before.as_deref())?;
        self.sink.write_all(&encode(file)?)?;
        // One more: a file that grew has changed.
        let mut declared = contents.take(file.bytes + 1);
        let copied = io::copy(&mut declared, &mut self.sink)?;
        if copied != file.bytes {
            return Err(PackedError::Changed(file.name.clone()));
        }
        self.sink.write_all(&[0; BLOCK][..padding(file.bytes)])?;
        self.before = Some(file.name.clone());
        Ok(())
    }

    /// Writes the end, and returns what it was written to.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn end(mut self) -> Result<W, PackedError> {
        for _ in 0..END_BLOCKS {
            self.sink.write_all(&[0; BLOCK])?;
        }
        self.sink.flush()?;
        Ok(self.sink)
    }
}

/// Length of the stream of files with these lengths.
pub fn packed_bytes(files: impl IntoIterator<Item = u64>) -> u64 {
    let of = |bytes: u64| bytes.saturating_add(padding(bytes.min(super::FILE_BYTES_MAX)) as u64 + BLOCK as u64);
    files.into_iter().fold(END_BLOCKS * BLOCK as u64, |sum, bytes| sum.saturating_add(of(bytes)))
}
