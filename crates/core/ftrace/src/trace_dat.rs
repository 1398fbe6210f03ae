//! trace.dat files, and the records of several CPUs in chronological order.
//!
//! [`TraceDat`] writes version 7, [`TraceFile`] reads versions 6 and 7, [`PagedTrace`] does so with a few MiB of a file at a time. [`CpuRecords`] and [`Merged`] also work on bare
//! pages of CPUs, so a live snapshot is read in the same way as a saved one.

mod cut;
mod layout;
mod paged;
mod reader;
mod records;
mod source;
mod writer;

pub use cut::cut_pages;
pub use paged::{PagedTrace, Window};
pub use reader::{Buffer, CpuPages, Gap, TraceFile, tracing_data};
pub use records::{CpuGap, CpuRecords, Merged, Record, TraceItem};
pub use source::{ReadAt, Source};
pub use writer::{CpuBytes, TraceDat};

#[cfg(test)]
mod tests;
