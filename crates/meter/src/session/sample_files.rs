//! Files of every sample, one per thread, that grow during a session.

use super::source::Batch;
use crate::link::Link;
use archive::message::{FileKind, Message};
use std::collections::BTreeMap;
use std::io::Write;

/// The open files, by thread.
#[derive(Debug, Default)]
pub struct SampleFiles(BTreeMap<u32, SampleFile>);

#[derive(Debug)]
struct SampleFile {
    file: u32,
    bytes: u64,
}

impl SampleFiles {
    /// Sends the samples of a batch and empties its buffers.
    pub fn append<W: Write>(&mut self, batch: &mut Batch, link: &mut Link<W>) {
        for (thread, samples) in batch.samples.iter_mut().filter(|(_, samples)| !samples.is_empty()) {
            let thread = *thread;
            let begin = || SampleFile { file: link.begin_file(FileKind::Samples { thread }), bytes: 0 };
            let file = self.0.entry(thread).or_insert_with(begin);
            link.chunk(file.file, file.bytes, samples);
            file.bytes += samples.len() as u64;
            samples.clear();
        }
    }

    /// Ends every file.
    pub fn close<W: Write>(self, link: &mut Link<W>) {
        for SampleFile { file, bytes } in self.0.into_values() {
            link.send(&Message::FileEnd { file, bytes });
        }
    }
}
