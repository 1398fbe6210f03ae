//! Version 6: every part in a fixed order, one buffer.

use super::bytes::{Bytes, lossy};
use super::places::{Place, PlacedBuffer};
use super::{Gap, TraceFile};
use crate::trace_dat::layout::id;

/// The metadata, and where the pages of the buffer are; `None` without a buffer. Each part that ended early has added its gap.
pub(super) fn read(trace: &mut TraceFile<'_>, bytes: &mut Bytes<'_>) -> Option<PlacedBuffer> {
    trace.read_headers(bytes)?;
    trace.read_ftrace_formats(bytes)?;
    trace.read_event_formats(bytes)?;
    trace.read_kallsyms(bytes)?;
    trace.read_printk_formats(bytes)?;
    trace.read_command_lines(bytes)?;
    let cpu_count = bytes.u32();
    let cpu_count = trace.or_missing(cpu_count, "number of CPUs")?;
    loop {
        let kind = bytes.take(10);
        match trace.or_missing(kind, "kind of the trace data")?.as_ref() {
            b"options  \0" => read_options(trace, bytes)?,
            b"flyrecord\0" => return Some(read_buffer(trace, bytes, cpu_count)),
            b"latency  \0" => {
                trace
                    .gaps
                    .push(Gap::Unsupported { what: "the text of a latency tracer in a trace.dat file".to_owned() });
                return None;
            }
            _ => {
                trace.gaps.push(Gap::Corrupt { part: "trace data".to_owned(), why: "of an unknown kind" });
                return None;
            }
        }
    }
}

fn read_options(trace: &mut TraceFile<'_>, bytes: &mut Bytes<'_>) -> Option<()> {
    loop {
        let number = bytes.u16();
        let number = trace.or_missing(number, "options")?;
        if number == id::DONE {
            return Some(());
        }
        let size = bytes.u32();
        let size = trace.or_missing(size, "options")?;
        let data = bytes.take(u64::from(size));
        let data = trace.or_missing(data, "options")?;
        match number {
            id::BUFFER => {
                let name = lossy(data.get(8..).unwrap_or(&[]));
                trace.gaps.push(Gap::Unsupported { what: format!("instance {name:?} in a trace.dat of version 6") });
            }
            _ => trace.read_option(number, &data),
        }
    }
}

fn read_buffer(trace: &mut TraceFile<'_>, bytes: &mut Bytes<'_>, cpu_count: u32) -> PlacedBuffer {
    let layout = trace.metadata.layout;
    let mut cpus = Vec::new();
    for cpu in 0..cpu_count {
        let (Some(offset), Some(size)) = (bytes.u64(), bytes.u64()) else {
            trace.gaps.push(Gap::missing(format!("places of the pages of CPU {cpu} and above"), 1));
            break;
        };
        cpus.push(Place { cpu, offset, size, is_packed: false });
    }
    if let Some(size) = bytes.u64()
        && let Some(clock) = bytes.take(size)
    {
        trace.metadata.clock = TraceFile::clock_name(&lossy(&clock));
    }
    PlacedBuffer { name: String::new(), clock: trace.metadata.clock.clone(), layout, cpus }
}
