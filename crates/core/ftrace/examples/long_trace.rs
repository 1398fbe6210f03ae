//! Makes a long recording of a short one: `long_trace IN.dat OUT.dat MIB` repeats the pages of a trace.dat, each time later, until the
//! file has that size. Instants in the fields of timers move with the pages.

#![allow(clippy::disallowed_methods, reason = "a program, not the pure half of the crate")]

use std::error::Error;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use ftrace::byte_order::ByteOrder;
use ftrace::format::EventFormats;
use ftrace::header::PageLayout;
use ftrace::metadata::MetadataText;
use ftrace::page::{PageItem, PageItems};
use ftrace::trace_dat::{CpuBytes, TraceDat, TraceFile, TraceItem};

/// Fields that have instants of CLOCK_MONOTONIC.
const INSTANTS: [&str; 3] = ["expires", "softexpires", "now"];
/// Between two repetitions.
const PAUSE_NS: u64 = 1_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to, mib] = arguments.as_slice() else { return Err("usage: long_trace IN.dat OUT.dat MIB".into()) };
    let bytes = std::fs::read(from)?;
    let file = TraceFile::parse(&bytes);
    let stamps = || file.merged().map(|item| item.ts_ns());
    let (first_ns, last_ns) = (stamps().min().ok_or("no events")?, stamps().max().ok_or("no events")?);
    let once: usize = file.cpus().iter().map(|cpu| pages_of(&file, *cpu).len()).sum();
    let times = (mib.parse::<usize>()? << 20).div_ceil(once.max(1));
    let later_ns = last_ns - first_ns + PAUSE_NS;

    let mut metadata = metadata_of(&file);
    metadata.kallsyms =
        file.metadata.symbols.iter().map(|(address, name)| format!("{address:016x} T {name}\n")).collect();
    let layout = file.layout();
    let shifted: Vec<(u32, Vec<u8>)> = file
        .cpus()
        .into_iter()
        .map(|cpu| {
            let pages = pages_of(&file, cpu);
            let mut repeated = Vec::with_capacity(pages.len() * times);
            for index in 0..times {
                repeated.extend_from_slice(&later(pages, &layout, &file.metadata.formats, later_ns * index as u64));
            }
            (cpu, repeated)
        })
        .collect();
    let trace = TraceDat {
        metadata: &metadata,
        layout,
        clock: &file.metadata.clock,
        uname: &file.metadata.uname,
        version: "ftrace example",
        cpu_count: shifted.len() as u32,
        cpus: shifted.iter().map(|(cpu, pages)| CpuBytes { cpu: *cpu, pages, stats: None }).collect(),
    };
    let mut sink = BufWriter::new(std::fs::File::create(to)?);
    trace.write_to(&mut sink)?;
    let events = file.merged().filter(|item| matches!(item, TraceItem::Record(_))).count() * times;
    println!("{times} times: {} MiB, {events} events", position(&mut sink)? >> 20);
    Ok(())
}

fn position(sink: &mut BufWriter<std::fs::File>) -> io::Result<u64> {
    sink.flush()?;
    sink.seek(SeekFrom::End(0))
}

fn pages_of<'f>(file: &'f TraceFile<'_>, cpu: u32) -> &'f [u8] {
    file.buffers.first().map_or(&[], |buffer| buffer.cpu_pages(cpu))
}

fn metadata_of(file: &TraceFile<'_>) -> MetadataText {
    MetadataText {
        header_page: file.layout().text(),
        header_event: "# compressed entry header\n".into(),
        event_formats: file.metadata.formats.iter().map(|format| (format.system.clone(), format.text())).collect(),
        ..MetadataText::default()
    }
}

/// The pages with every instant so much later.
fn later(pages: &[u8], layout: &PageLayout, formats: &EventFormats, later_ns: u64) -> Vec<u8> {
    let mut moved = pages.to_vec();
    let mut add = |at: usize| {
        let Some(instant) = layout.byte_order.u64_at(pages, at) else { return };
        let bytes = match layout.byte_order {
            ByteOrder::Little => (instant + later_ns).to_le_bytes(),
            ByteOrder::Big => (instant + later_ns).to_be_bytes(),
        };
        moved[at..at + 8].copy_from_slice(&bytes);
    };
    for (page_at, page) in (0..).step_by(layout.page_size).zip(pages.chunks(layout.page_size)) {
        add(page_at);
        for item in PageItems::new(page, layout) {
            let PageItem::Record(record) = item else { continue };
            let id = layout.byte_order.u16_at(record.payload, 0);
            let fields = id.and_then(|id| formats.by_id(id)).into_iter().flat_map(|format| &format.fields);
            let payload_at = page_at + (record.payload.as_ptr() as usize - page.as_ptr() as usize);
            for field in fields.filter(|field| field.size == 8 && INSTANTS.contains(&field.name.as_str())) {
                add(payload_at + field.offset);
            }
        }
    }
    moved
}
