//! Files of every sample, one per thread, that grow during a session.

use super::source::Batch;
use crate::link::{GrowingFile, Link};
use archive::message::FileKind;
use std::collections::BTreeMap;
use std::io::Write;

/// The open files, by thread.
#[derive(Debug, Default)]
pub struct SampleFiles(BTreeMap<u32, GrowingFile>);

impl SampleFiles {
    /// Sends the samples of a batch and empties its buffers.
    pub fn append<W: Write>(&mut self, batch: &mut Batch, link: &mut Link<W>) {
        for (thread, samples) in batch.samples.iter_mut().filter(|(_, samples)| !samples.is_empty()) {
            let thread = *thread;
            let file = self.0.entry(thread).or_insert_with(|| GrowingFile::begin(link, FileKind::Samples { thread }));
            file.append(link, samples);
            samples.clear();
        }
    }

    /// Ends every file.
    pub fn close<W: Write>(self, link: &mut Link<W>) {
        self.0.into_values().for_each(|file| file.end(link));
    }
}
