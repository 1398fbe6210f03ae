//! A file of the archive that grows during a run.

use super::Link;
use archive::message::{FileKind, Message};
use std::io::Write;

#[derive(Debug)]
pub struct GrowingFile {
    file: u32,
    bytes: u64,
}

impl GrowingFile {
    /// Starts the file.
    pub fn begin<W: Write>(link: &mut Link<W>, kind: FileKind) -> Self {
        Self { file: link.begin_file(kind), bytes: 0 }
    }

    /// Sends the bytes that follow.
    pub fn append<W: Write>(&mut self, link: &mut Link<W>, bytes: &[u8]) {
        link.chunk(self.file, self.bytes, bytes);
        self.bytes += bytes.len() as u64;
    }

    /// Ends the file.
    pub fn end<W: Write>(self, link: &mut Link<W>) {
        link.send(&Message::FileEnd { file: self.file, bytes: self.bytes });
    }
}
