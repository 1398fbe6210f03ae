//! Makes a large run archive out of small cases: `many_spikes OUT SPIKES BYTES CASE...`.
//!
//! Each spike gets a trace.dat of about BYTES: the pages of one of the cases, taken in turn, after enough copies of
//! themselves, moved into the past, as a ring buffer contains them at the density of the case. Every spike is one
//! second after the previous one: the times in its pages are moved along. `bench/explain_archives` measures with it.

use archive::layout::file_path;
use archive::manifest::{Manifest, RunState};
use archive::message::{FileKind, Message};
use archive::settings::RunSettings;
use archive::spike::{Spike, SpikeReason};
use archive::writer::RunWriter;
use ftrace::metadata::MetadataText;
use ftrace::trace_dat::{CpuBytes, TraceDat, TraceFile};
use std::error::Error;
use std::fs;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Between one spike and the next.
const STEP_NS: u64 = 1_000_000_000;
/// Numbers in the pages this close to the due instant are times.
const NEAR_NS: u64 = 10_000_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |name: &str| arguments.next().ok_or(format!("{name} is missing"));
    let out = PathBuf::from(argument("OUT")?);
    let count: u32 = argument("SPIKES")?.parse()?;
    let bytes: usize = argument("BYTES")?.parse()?;
    let cases: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    if cases.is_empty() {
        return Err("the directory of a case is missing".into());
    }
    let manifest = Manifest {
        settings: Some(RunSettings::default()),
        ..Manifest::new("many-spikes", env!("CARGO_PKG_VERSION"), "made up")
    };
    let mut writer = RunWriter::create(&out, manifest)?;
    for (number, case) in (1..=count).zip(cases.iter().cycle()) {
        let moved_ns = u64::from(number) * STEP_NS;
        let mut spike: Spike = serde_json::from_value(
            serde_json::from_slice::<serde_json::Value>(&fs::read(case.join("spike.json"))?)?["spike"].take(),
        )?;
        let due_ns = u64::try_from(spike.sample.due_ns)?;
        let trace = out.join(file_path(FileKind::SpikeTrace { spike: number }));
        fs::create_dir_all(trace.parent().ok_or("a trace lies in a directory")?)?;
        write_trace(&fs::read(case.join("trace.dat"))?, &trace, bytes, due_ns, moved_ns)?;
        spike.number = number;
        spike.reason = SpikeReason::OverLimit;
        spike.sample.cycle = u64::from(number);
        spike.sample.due_ns += moved_ns as i64;
        spike.previous_seen_ns = spike.previous_seen_ns.map(|ns| ns + moved_ns as i64);
        let Some(snapshot) = &mut spike.snapshot else {
            return Err(format!("the spike of {} has no snapshot", case.display()).into());
        };
        snapshot.frozen_ns += moved_ns as i64;
        snapshot.trace_bytes = fs::metadata(&trace)?.len();
        for coverage in &mut snapshot.coverage {
            // The copies reach further back than the case does.
            coverage.oldest_ns = coverage.oldest_ns.map(|ns| ns + moved_ns as i64 - STEP_NS as i64);
            coverage.newest_ns = coverage.newest_ns.map(|ns| ns + moved_ns as i64);
        }
        writer.append(&Message::Spike(Box::new(spike)))?;
    }
    writer.finish(RunState::Complete, None, 0)?;
    Ok(())
}

fn write_trace(case: &[u8], path: &Path, bytes: usize, due_ns: u64, moved_ns: u64) -> Result<(), Box<dyn Error>> {
    let file = TraceFile::parse(case);
    let layout = file.layout();
    let buffer = file.buffers.first().ok_or("the case has no pages")?;
    let once: usize = buffer.cpus.iter().map(|cpu| cpu.pages.len()).sum();
    let copies = bytes.div_ceil(once.max(1)).max(1);
    let stamp = |page: &[u8]| page.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let stamps: Vec<u64> =
        buffer.cpus.iter().flat_map(|cpu| cpu.pages.chunks(layout.page_size).filter_map(stamp)).collect();
    let first = stamps.iter().min().ok_or("the case has no pages")?;
    // The last page is about as long as the others.
    let span = (stamps.iter().max().unwrap_or(first) - first).max(100_000) * 5 / 4;
    let mut pages: Vec<(u32, Vec<u8>)> = Vec::new();
    for cpu in &buffer.cpus {
        let mut all = Vec::with_capacity(cpu.pages.len() * copies);
        for copy in (0..copies as u64).rev() {
            for page in cpu.pages.chunks(layout.page_size) {
                let at = all.len();
                all.extend_from_slice(page);
                if copy == 0 {
                    move_times(&mut all[at..], due_ns, moved_ns);
                } else if let Some(stamp) = stamp(page) {
                    let earlier = (stamp + moved_ns).saturating_sub(copy * span);
                    all[at..at + 8].copy_from_slice(&earlier.to_le_bytes());
                }
            }
        }
        pages.push((cpu.cpu, all));
    }
    let metadata = MetadataText {
        header_page: layout.text(),
        header_event: "# compressed entry header\n".into(),
        event_formats: file.metadata.formats.iter().map(|format| (format.system.clone(), format.text())).collect(),
        kallsyms: file.metadata.symbols.iter().map(|(address, name)| format!("{address:x} t {name}\n")).collect(),
        ..MetadataText::default()
    };
    let dat = TraceDat {
        metadata: &metadata,
        layout,
        clock: "mono",
        uname: "",
        version: "many_spikes",
        cpu_count: pages.len() as u32,
        cpus: pages.iter().map(|(cpu, pages)| CpuBytes { cpu: *cpu, pages, stats: None }).collect(),
    };
    dat.write_to(&mut BufWriter::new(fs::File::create(path)?))?;
    Ok(())
}

/// Moves every number that is a time near the wake-up, at any offset: stamps of pages, instants at which timers expire.
fn move_times(page: &mut [u8], due_ns: u64, moved_ns: u64) {
    let mut at = 0;
    while let Some(word) = page.get_mut(at..at + 8) {
        let value = u64::from_le_bytes(word.try_into().unwrap_or_default());
        if value.abs_diff(due_ns) < NEAR_NS {
            word.copy_from_slice(&(value + moved_ns).to_le_bytes());
            at += 4;
        }
        at += 4;
    }
}
