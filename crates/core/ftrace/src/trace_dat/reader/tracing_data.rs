//! The section of a perf.data file that describes tracepoints: the beginning of a trace.dat of version 6, under a version of its own.

use super::bytes::Bytes;
use super::{Gap, TraceFile};
use crate::byte_order::ByteOrder;
use crate::header::PageLayout;
use crate::metadata::Metadata;
use crate::trace_dat::layout::MAGIC;

/// From this version on names of threads follow.
const WITH_COMMAND_LINES: &str = "0.6";

/// The descriptions, and the parts that cannot be read.
pub fn tracing_data(section: &[u8]) -> (Metadata, Vec<Gap>) {
    let mut trace = TraceFile {
        version: 0,
        metadata: Metadata::empty(PageLayout::bits64(ByteOrder::Little)),
        buffers: Vec::new(),
        gaps: Vec::new(),
    };
    let mut bytes = Bytes::new(section, ByteOrder::Little);
    if bytes.take(MAGIC.len() as u64).as_deref() == Some(MAGIC) {
        // Each part that ended early has added its gap.
        let _ = read(&mut trace, &mut bytes);
    } else {
        trace.gaps.push(Gap::Corrupt { part: "tracing data".to_owned(), why: "of an unknown kind" });
    }
    (trace.metadata, trace.gaps)
}

fn read<'a>(trace: &mut TraceFile<'a>, bytes: &mut Bytes<'a>) -> Option<()> {
    let version = bytes.text();
    let version = trace.or_missing(version, "version of the tracing data")?;
    let head = trace.layout_of_head(bytes);
    trace.or_missing(head, "head of the tracing data")?;
    trace.read_headers(bytes)?;
    trace.read_ftrace_formats(bytes)?;
    trace.read_event_formats(bytes)?;
    trace.read_kallsyms(bytes)?;
    trace.read_printk_formats(bytes)?;
    if version == WITH_COMMAND_LINES { trace.read_command_lines(bytes) } else { Some(()) }
}
