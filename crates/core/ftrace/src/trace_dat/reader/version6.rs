//! Version 6: every part in a fixed order, one buffer.

use super::bytes::{Bytes, lossy};
use super::pages::{PageReader, PageSpan};
use super::{Buffer, Gap, Span, TraceFile};
use crate::trace_dat::layout::id;

pub(super) fn read<'a>(trace: &mut TraceFile<'a>, bytes: &mut Bytes<'a>, span: Span) {
    // Each part that ended early has added its gap.
    let _ = read_parts(trace, bytes, span);
}

fn read_parts<'a>(trace: &mut TraceFile<'a>, bytes: &mut Bytes<'a>, span: Span) -> Option<()> {
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
            b"flyrecord\0" => return read_buffer(trace, bytes, cpu_count, span),
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

fn read_buffer<'a>(trace: &mut TraceFile<'a>, bytes: &mut Bytes<'a>, cpu_count: u32, span: Span) -> Option<()> {
    let layout = trace.metadata.layout;
    let mut places = Vec::new();
    for cpu in 0..cpu_count {
        let (Some(offset), Some(size)) = (bytes.u64(), bytes.u64()) else {
            trace.gaps.push(Gap::missing(format!("places of the pages of CPU {cpu} and above"), 1));
            break;
        };
        places.push((cpu, offset, size));
    }
    if let Some(size) = bytes.u64()
        && let Some(clock) = bytes.take(size)
    {
        trace.metadata.clock = TraceFile::clock_name(&lossy(&clock));
    }
    let reader = PageReader::new(bytes.clone());
    let wanted = PageSpan { layout, span };
    let cpus = places
        .into_iter()
        .map(|(cpu, offset, size)| reader.plain(&mut trace.gaps, &wanted, cpu, offset, size))
        .collect();
    trace.buffers.push(Buffer { name: String::new(), clock: trace.metadata.clock.clone(), layout, cpus });
    Some(())
}
