//! Where the pages of each buffer are in a file.

use crate::header::PageLayout;

/// The place of the pages of one CPU.
#[derive(Clone, Debug)]
pub(in crate::trace_dat) struct Place {
    pub cpu: u32,
    pub offset: u64,
    /// As the file states it: the file may be shorter.
    pub size: u64,
    /// In chunks, each compressed.
    pub is_packed: bool,
}

/// A buffer before its pages are read.
#[derive(Clone, Debug)]
pub(in crate::trace_dat) struct PlacedBuffer {
    /// Empty for the top-level buffer.
    pub name: String,
    pub clock: String,
    pub layout: PageLayout,
    pub cpus: Vec<Place>,
}
