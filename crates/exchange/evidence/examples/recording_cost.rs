//! Measures what a recording costs: `recording_cost FILE [explain]` makes its archive and prints CPU time and the peak of its memory; with
//! `explain` it explains every spike as well, as `tardy explain` does. Of a text it prints the rate of reading alone first.

#![allow(clippy::disallowed_methods, reason = "a program, not a part of the crate")]

use account::{Account, DiskFile, ExplanationSource};
use archive::frame::Item;
use archive::manifest::{Manifest, RunState};
use archive::message::Message;
use archive::reader::Run;
use archive::writer::RunWriter;
use evidence::archived::{Origin, archived};
use evidence::file::{contents, is_trace_dat};
use evidence::request::Request;
use ftrace::trace_dat::{PagedTrace, Source};
use std::error::Error;
use std::fs::{self, File};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments.first().ok_or("usage: recording_cost FILE [explain]")?;
    let disk = DiskFile::of(File::open(path)?)?;
    let source = Source::Reader(&disk);
    let (count, unit) = if is_trace_dat(source).is_some() {
        let mut events = 0;
        let begin = cpu_s();
        PagedTrace::open(source).read_through(|_, records| events += records.count());
        report("one pass", events, "events", cpu_s() - begin);
        (events, "events")
    } else {
        let bytes = fs::read(path)?;
        let begin = cpu_s();
        let read = contents(&bytes, "").map_err(|why| why.to_string())?;
        let seconds = cpu_s() - begin;
        drop(read);
        let lines = bytes.split(|byte| *byte == b'\n').count();
        report("reading", lines, "lines", seconds);
        (lines, "lines")
    };
    let origin = Origin { file_name: "recording", clock: "", imported_unix_ns: 1 };
    let begin = cpu_s();
    let made = archived(source, &Request { worst: 10, ..Request::default() }, origin).map_err(|why| why.to_string())?;
    let cuts: usize = made.files.iter().map(|(_, data)| data.len()).sum();
    report("archive", count, unit, cpu_s() - begin);
    println!("of {} spikes: {} kB of traces", made.files.len(), cuts >> 10);
    println!("peak: {} MB", peak_kb()? >> 10);
    if arguments.get(1).map(String::as_str) == Some("explain") {
        let folder = tempfile::tempdir()?;
        let manifest = Manifest { imported: Some(made.imported), ..Manifest::new("recording", "example", "board") };
        let mut writer = RunWriter::create(folder.path(), manifest)?;
        for message in &made.messages {
            writer.append(message)?;
        }
        for (file, (kind, data)) in (1..).zip(made.files) {
            let bytes = data.len() as u64;
            writer.store(&Item::Message(Message::FileBegin { file, kind }))?;
            writer.store(&Item::Chunk { file, offset: 0, data })?;
            writer.store(&Item::Message(Message::FileEnd { file, bytes }))?;
        }
        writer.finish(RunState::Complete, None, 2)?;
        let begin = cpu_s();
        let account = Account::of(Run::open(folder.path())?, ExplanationSource::Traces);
        let first = account.run().late_spikes().max_by_key(|spike| spike.sample.latency_ns);
        let first = first.and_then(|spike| account.explanation_of(spike.number)).map(|worst| worst.findings.first());
        let name = first.flatten().map_or("not explained", |finding| finding.culprit.id());
        println!("explained: {:.2} CPU s, the worst is {name}; peak: {} MB", cpu_s() - begin, peak_kb()? >> 10);
    }
    Ok(())
}

fn report(what: &str, count: usize, unit: &str, seconds: f64) {
    println!("{what}: {count} {unit}, {seconds:.2} CPU s, {:.1} M {unit}/s", count as f64 / seconds / 1e6);
}

/// CPU time of this process: wall time means nothing on a busy machine.
fn cpu_s() -> f64 {
    let stat = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or_default() / 1e9
}

fn peak_kb() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    Ok(peak.ok_or("no peak")?.trim().parse()?)
}
