//! Reads a stream from an untrusted source, file by file and piece by piece.

use super::header::{Block, decode};
use super::{BLOCK, END_BLOCKS, PackedError, PackedFile, PackedLimits, check_name, padding};
use std::io::{ErrorKind, Read};

/// `tar` fills its last record of 20 blocks with zeros.
const FILL_BLOCKS_MAX: u64 = 20;

/// A stream that is being read. It is whole when [`PackedReader::next_file`] returns `None`.
#[derive(Debug)]
pub struct PackedReader<R> {
    source: R,
    limits: PackedLimits,
    files: usize,
    /// Declared by all headers so far.
    bytes: u64,
    current: Option<PackedFile>,
    /// Bytes of the current file that are still to come.
    rest: u64,
}

impl<R: Read> PackedReader<R> {
    pub fn new(source: R, limits: PackedLimits) -> Self {
        Self { source, limits, files: 0, bytes: 0, current: None, rest: 0 }
    }

    /// The next file; skips what was not read of the one before. `None` at the end, after which nothing may follow.
    ///
    /// # Errors
    /// For everything that is not the header of a regular file with a name inside an archive, and beyond the limits. The
    /// stream is of no use after an error.
    pub fn next_file(&mut self) -> Result<Option<PackedFile>, PackedError> {
        self.finish_file()?;
        let mut block = [0; BLOCK];
        self.fill(&mut block)?;
        if is_empty(&block) {
            return self.end().map(|()| None);
        }
        let file = decode(&block)?;
        check_name(&file.name, self.current.as_ref().map(|before| before.name.as_str()))?;
        if self.files >= self.limits.files_max {
            return Err(PackedError::TooMany { files_max: self.limits.files_max });
        }
        let bytes_max = self.limits.bytes_max.saturating_sub(self.bytes);
        if file.bytes > bytes_max {
            return Err(PackedError::TooLarge { name: file.name, bytes: file.bytes, bytes_max });
        }
        self.files += 1;
        self.bytes += file.bytes;
        self.rest = file.bytes;
        self.current = Some(file.clone());
        Ok(Some(file))
    }

    /// Bytes of the current file into the buffer; 0 at its end, or if the buffer is empty.
    ///
    /// # Errors
    /// Errors of the source, and [`PackedError::Cut`].
    pub fn read_piece(&mut self, into: &mut [u8]) -> Result<usize, PackedError> {
        let count_max = usize::try_from(self.rest).unwrap_or(usize::MAX).min(into.len());
        if count_max == 0 {
            return Ok(0);
        }
        let count = read(&mut self.source, &mut into[..count_max])?;
        if count == 0 {
            return Err(PackedError::Cut);
        }
        self.rest -= count as u64;
        Ok(count)
    }

    fn finish_file(&mut self) -> Result<(), PackedError> {
        let mut skipped = [0; 4096];
        while self.read_piece(&mut skipped)? > 0 {}
        let Some(file) = &self.current else { return Ok(()) };
        let (bytes, name) = (file.bytes, file.name.clone());
        let mut block = [0; BLOCK];
        let filled = &mut block[..padding(bytes)];
        self.fill(filled)?;
        if is_empty(&block) { Ok(()) } else { Err(PackedError::Padding(name)) }
    }

    /// After the first block of the end.
    fn end(&mut self) -> Result<(), PackedError> {
        let mut block: Block = [0; BLOCK];
        for _ in 1..END_BLOCKS {
            self.fill(&mut block)?;
            if !is_empty(&block) {
                return Err(PackedError::AfterEnd);
            }
        }
        for _ in 0..=FILL_BLOCKS_MAX {
            let mut filled = 0;
            while filled < BLOCK {
                match read(&mut self.source, &mut block[filled..])? {
                    0 if filled == 0 => return Ok(()),
                    0 => return Err(PackedError::Cut),
                    count => filled += count,
                }
            }
            if !is_empty(&block) {
                return Err(PackedError::AfterEnd);
            }
        }
        Err(PackedError::AfterEnd)
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<(), PackedError> {
        let mut filled = 0;
        while filled < into.len() {
            match read(&mut self.source, &mut into[filled..])? {
                0 => return Err(PackedError::Cut),
                count => filled += count,
            }
        }
        Ok(())
    }
}

fn read(source: &mut impl Read, into: &mut [u8]) -> Result<usize, PackedError> {
    loop {
        match source.read(into) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => return Ok(read?),
        }
    }
}

fn is_empty(block: &Block) -> bool {
    block.iter().all(|byte| *byte == 0)
}
