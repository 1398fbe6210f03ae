//! Tests on the running kernel: need root and tracefs. They only touch their own instances. trace-cmd verifies the
//! written files.

#![allow(clippy::disallowed_methods, reason = "this test is about I/O")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ftrace::byte_order::ByteOrder;
use ftrace::print_fmt::EventPrinter;
use ftrace::trace_dat::{CpuBytes, CpuRecords, Merged, TraceDat, TraceFile, TraceItem};
use ftrace::tracefs::{Instance, Tracefs, TracefsError};
use prerequisites::require;

const EVENTS: [(&str, &str); 6] = [
    ("sched", "sched_switch"),
    ("sched", "sched_waking"),
    ("irq", "softirq_entry"),
    ("irq", "softirq_exit"),
    ("timer", "hrtimer_expire_entry"),
    ("power", "cpu_idle"),
];

/// Removed even when an assertion fails.
struct OwnInstance(Instance);

impl OwnInstance {
    fn new(test: &str) -> OwnInstance {
        let tracefs = Tracefs::find().unwrap();
        OwnInstance(tracefs.create_instance(&format!("ftrace_test_{test}_{}", std::process::id())).unwrap())
    }
}

impl Drop for OwnInstance {
    fn drop(&mut self) {
        // Another test that looks for foreign instances may have a file of this one open.
        let removed = (0..50).any(|_| {
            let removed = self.0.clone().remove();
            removed.as_ref().inspect_err(|error| eprintln!("failed to {error}")).is_ok() || {
                std::thread::sleep(Duration::from_millis(20));
                false
            }
        });
        assert!(removed || std::thread::panicking(), "{} stays", self.0.path().display());
    }
}

/// Switches between threads, timers and markers for a tenth of a second.
fn record(instance: &Instance) {
    instance.set_tracing_on(false).unwrap();
    instance.set_clock("mono").unwrap();
    instance.set_buffer_size_kb(4096).unwrap();
    for (system, name) in EVENTS {
        instance.enable_event(system, name).unwrap();
    }
    instance.set_tracing_on(true).unwrap();
    let marker = instance.open_marker().unwrap();
    for number in 0..50 {
        std::thread::sleep(Duration::from_millis(2));
        std::io::Write::write_all(&mut &marker, format!("marker {number}").as_bytes()).unwrap();
    }
    instance.set_tracing_on(false).unwrap();
}

fn drain(instance: &Instance) -> Vec<(u32, Vec<u8>)> {
    let drain = |cpu| {
        let mut pages = Vec::new();
        instance.open_raw(cpu).unwrap().drain_into(&mut pages, usize::MAX).unwrap();
        (cpu, pages)
    };
    instance.cpus().into_iter().map(drain).collect()
}

fn trace_dat(instance: &Instance, pages: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let metadata = instance.metadata(&EVENTS).unwrap();
    let cpus =
        pages.iter().map(|(cpu, pages)| CpuBytes { cpu: *cpu, pages, stats: Some(instance.cpu_stats(*cpu).unwrap()) });
    TraceDat {
        metadata: &metadata,
        layout: instance.page_layout().unwrap(),
        clock: "mono",
        uname: "Linux test",
        version: "ftrace test",
        cpu_count: pages.len() as u32,
        cpus: cpus.collect(),
    }
    .to_vec()
}

fn trace_cmd(arguments: &[&str]) -> String {
    let output = Command::new("trace-cmd").args(arguments).output().unwrap();
    assert!(output.status.success(), "trace-cmd {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// (CPU, event name, time in ns) of each record, as `trace-cmd report -t` prints them.
fn reported(text: &str) -> Vec<(u32, String, u64)> {
    let line = |line: &str| {
        let (_, rest) = line.split_once(" [")?;
        let (cpu, rest) = rest.split_once("] ")?;
        let (time, rest) = rest.trim_start().split_once(": ")?;
        let (seconds, fraction) = time.split_once('.')?;
        let name = rest.split(':').next()?.trim();
        let time_ns = seconds.parse::<u64>().ok()? * 1_000_000_000 + fraction.parse::<u64>().ok()?;
        Some((cpu.parse().ok()?, name.to_owned(), time_ns))
    };
    text.lines().filter_map(line).collect()
}

fn decoded(file: &TraceFile<'_>) -> Vec<(u32, String, u64)> {
    let record = |item| match item {
        TraceItem::Record(record) => {
            let name = file.metadata.formats.by_id(record.id).unwrap().name.clone();
            (record.cpu, name, record.ts_ns)
        }
        TraceItem::Gap(gap) => panic!("a gap where nothing was lost: {gap:?}"),
    };
    file.merged().map(record).collect()
}

fn save(folder: &Path, bytes: &[u8]) -> PathBuf {
    let path = folder.join("trace.dat");
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn trace_cmd_reads_our_files_the_same() {
    require!(Root, Tracefs, Program("trace-cmd"));
    let own = OwnInstance::new("write");
    record(&own.0);
    let entries: u64 = own.0.cpus().iter().map(|&cpu| own.0.cpu_stats(cpu).unwrap().entries).sum();
    let pages = drain(&own.0);
    let bytes = trace_dat(&own.0, &pages);
    let file = TraceFile::parse(&bytes);
    assert_eq!(file.gaps, []);
    assert_eq!((file.version, file.metadata.clock.as_str(), file.cpus()), (7, "mono", own.0.cpus()));
    let ours = decoded(&file);
    assert_eq!(ours.len() as u64, entries);
    assert!(ours.is_sorted_by_key(|&(_, _, time_ns)| time_ns));
    let markers = ours.iter().filter(|(_, name, _)| name == "print").count();
    assert_eq!(markers, 50);

    let folder = tempfile::tempdir().unwrap();
    let path = save(folder.path(), &bytes);
    let text = trace_cmd(&["report", "-t", path.to_str().unwrap()]);
    let mut theirs = reported(&text);
    let mut ours = ours;
    ours.sort();
    theirs.sort();
    assert_eq!(ours.len(), theirs.len());
    assert_eq!(ours, theirs);
}

/// (CPU, event name, text) of the lines of the kernel's own `trace` file, with repetitions.
fn kernel_texts(text: &str) -> Vec<(u32, String, String)> {
    let line = |line: &str| {
        let (_, rest) = line.split_once(" [")?;
        let (cpu, rest) = rest.split_once("] ")?;
        let (_, rest) = rest.split_once(": ")?;
        let (name, text) = rest.split_once(": ")?;
        Some((cpu.parse().ok()?, name.to_owned(), text.to_owned()))
    };
    text.lines().filter(|line| !line.starts_with('#')).filter_map(line).collect()
}

#[test]
fn our_text_of_events_is_that_of_the_kernel() {
    require!(Root, Tracefs);
    let own = OwnInstance::new("text");
    record(&own.0);
    let kernel = fs::read_to_string(own.0.path().join("trace")).unwrap();
    // There, addresses are hashed or named, and the markers' line differs: other tests cover those events.
    let comparable =
        |name: &str| ["sched_switch", "sched_waking", "softirq_entry", "softirq_exit", "cpu_idle"].contains(&name);
    let mut theirs = kernel_texts(&kernel);
    theirs.retain(|(_, name, _)| comparable(name));
    let bytes = trace_dat(&own.0, &drain(&own.0));
    let file = TraceFile::parse(&bytes);
    let mut printer = EventPrinter::new(&file.metadata);
    let mut ours = Vec::new();
    for item in file.merged() {
        let TraceItem::Record(record) = item else { panic!("{item:?}") };
        let name = printer.name(&record).unwrap();
        if comparable(name) {
            let mut text = String::new();
            printer.print(&record, &mut text);
            ours.push((record.cpu, name.to_owned(), text));
        }
    }
    assert!(ours.len() > 100);
    ours.sort();
    theirs.sort();
    assert_eq!(ours, theirs);
}

#[test]
fn files_of_trace_cmd_are_read_the_same() {
    require!(Root, Tracefs, Program("trace-cmd"));
    let own = OwnInstance::new("convert");
    record(&own.0);
    let bytes = trace_dat(&own.0, &drain(&own.0));
    let ours = decoded(&TraceFile::parse(&bytes));
    let folder = tempfile::tempdir().unwrap();
    let path = save(folder.path(), &bytes);
    let mut variants = vec![(6, &["--file-version", "6"][..]), (7, &["--file-version", "7", "--compression", "none"])];
    if cfg!(feature = "zstd") {
        variants.push((7, &["--file-version", "7", "--compression", "zstd"]));
    }
    for (version, arguments) in variants {
        let converted = folder.path().join("converted.dat");
        let fixed = ["convert", "-i", path.to_str().unwrap(), "-o", converted.to_str().unwrap()];
        trace_cmd(&[&fixed[..], arguments].concat());
        let bytes = fs::read(&converted).unwrap();
        let file = TraceFile::parse(&bytes);
        assert_eq!(file.gaps, [], "{arguments:?}");
        assert_eq!(file.version, version);
        assert_eq!(decoded(&file), ours, "{arguments:?}");
        let middle_ns = ours[ours.len() / 2].2;
        let windowed = TraceFile::parse_window(&bytes, middle_ns, middle_ns + 1_000_000);
        let inside = |(_, _, time_ns): &&(u32, String, u64)| (middle_ns..=middle_ns + 1_000_000).contains(time_ns);
        assert_eq!(windowed.window(middle_ns, middle_ns + 1_000_000).count(), ours.iter().filter(inside).count());
    }
}

#[test]
fn sub_buffers_of_another_size_are_read_whole() {
    require!(Root, Tracefs);
    let own = OwnInstance::new("subbuffer");
    require!(Kernel("sub-buffers of 16 KiB (Linux 6.8)", own.0.set_subbuffer_size_kb(16).is_ok()));
    record(&own.0);
    let layout = own.0.page_layout().unwrap();
    assert_eq!((layout.page_size, layout.byte_order), (16384, ByteOrder::NATIVE));
    let entries: u64 = own.0.cpus().iter().map(|&cpu| own.0.cpu_stats(cpu).unwrap().entries).sum();
    let pages = drain(&own.0);
    let records = Merged::new(pages.iter().map(|(cpu, pages)| CpuRecords::new(*cpu, pages, &layout)));
    assert_eq!(records.count() as u64, entries);
}

#[test]
fn lost_events_are_counted_as_the_kernel_counts_them() {
    require!(Root, Tracefs);
    let own = OwnInstance::new("lost");
    own.0.set_clock("mono").unwrap();
    own.0.set_buffer_size_kb(16).unwrap();
    let marker = own.0.open_marker().unwrap();
    let mut pages = Vec::new();
    let mut readers: Vec<_> = own.0.cpus().into_iter().map(|cpu| own.0.open_raw(cpu).unwrap()).collect();
    let cpus = own.0.cpus();
    let mut per_cpu = vec![Vec::new(); cpus.len()];
    // Losses are reported on the page that is read next, so there must have been a read before them.
    for _ in 0..2 {
        for _ in 0..2000 {
            std::io::Write::write_all(&mut &marker, b"a marker that fills the buffer until it wraps around").unwrap();
        }
        for (reader, pages) in readers.iter_mut().zip(&mut per_cpu) {
            reader.drain_into(pages, 1 << 20).unwrap();
        }
    }
    pages.append(&mut per_cpu);
    let layout = own.0.page_layout().unwrap();
    let (mut records, mut lost) = (0, 0);
    for (cpu, pages) in cpus.iter().zip(&pages) {
        for item in CpuRecords::new(*cpu, pages, &layout) {
            match item {
                TraceItem::Record(_) => records += 1,
                TraceItem::Gap(gap) => match gap.kind {
                    ftrace::page::GapKind::Lost { count } => lost += count.expect("a page with room for the count"),
                    other => panic!("{other:?}"),
                },
            }
        }
    }
    assert!(lost > 0);
    let overrun: u64 = cpus.iter().map(|&cpu| own.0.cpu_stats(cpu).unwrap().overrun).sum();
    assert_eq!((records + lost, lost), (4000, overrun));
}

#[test]
fn reading_while_recording_gets_every_event_once_and_in_order() {
    const MARKERS: usize = 5000;
    require!(Root, Tracefs);
    let own = OwnInstance::new("busy");
    own.0.set_clock("mono").unwrap();
    own.0.set_buffer_size_kb(8192).unwrap();
    // Filtered events leave discarded records between the recorded ones.
    own.0.set_event_filter("sched", "sched_switch", "prev_pid == -5").unwrap();
    own.0.enable_event("sched", "sched_switch").unwrap();
    let marker = own.0.open_marker().unwrap();
    let mut readers: Vec<_> =
        own.0.cpus().into_iter().map(|cpu| (cpu, own.0.open_raw(cpu).unwrap(), Vec::new())).collect();
    let writer = std::thread::spawn(move || {
        for number in 0..MARKERS {
            std::io::Write::write_all(&mut &marker, number.to_string().as_bytes()).unwrap();
            if number % 100 == 0 {
                std::thread::sleep(Duration::from_micros(100));
            }
        }
    });
    let mut done = false;
    while !done {
        // Checked before reading, so that the last round reads what was written last.
        done = writer.is_finished();
        for (_, reader, pages) in &mut readers {
            reader.drain_into(pages, 1 << 20).unwrap();
        }
    }
    writer.join().unwrap();
    let layout = own.0.page_layout().unwrap();
    let metadata = own.0.metadata::<&str>(&[]).unwrap().parse(ByteOrder::NATIVE);
    let print = metadata.formats.find("ftrace", "print").unwrap().field("buf").unwrap();
    let merged = Merged::new(readers.iter().map(|(cpu, _, pages)| CpuRecords::new(*cpu, pages, &layout)));
    let numbers: Vec<usize> = merged
        .map(|item| match item {
            TraceItem::Record(record) => print.text(record.payload).unwrap().trim().parse().unwrap(),
            TraceItem::Gap(gap) => panic!("{gap:?}"),
        })
        .collect();
    assert!(numbers.into_iter().eq(0..MARKERS));
}

#[test]
fn threads_can_be_left_out() {
    require!(Root, Tracefs);
    let own = OwnInstance::new("notrace");
    require!(Kernel("set_event_notrace_pid (Linux 5.7)", Tracefs::find().unwrap().capabilities().notrace_pids));
    let pid = std::process::id() as i32;
    own.0.set_notrace_pids(&[pid, 1]).unwrap();
    let said = fs::read_to_string(own.0.path().join("set_event_notrace_pid")).unwrap();
    let mut pids: Vec<i32> = said.lines().map(|line| line.trim().parse().unwrap()).collect();
    pids.sort_unstable();
    assert_eq!(pids, [1, pid]);
    own.0.set_notrace_pids(&[]).unwrap();
    assert_eq!(fs::read_to_string(own.0.path().join("set_event_notrace_pid")).unwrap().trim(), "");
}

#[test]
fn a_refusal_of_the_kernel_has_its_reason() {
    require!(Root, Tracefs);
    let own = OwnInstance::new("reject");
    let error = own.0.set_event_filter("sched", "sched_switch", "no_such_field == 1").unwrap_err();
    assert!(matches!(&error, TracefsError::Rejected { reason, .. } if !reason.is_empty()), "{error}");
    assert!(!own.0.enable_event("sched", "no_such_event").unwrap());
    assert!(own.0.has_event("sched", "sched_switch"));
}

#[test]
fn every_format_of_this_kernel_is_understood() {
    require!(Root, Tracefs);
    let tracefs = Tracefs::find().unwrap();
    let mut pairs = Vec::new();
    for system in tracefs.capabilities().event_systems {
        let Ok(entries) = fs::read_dir(tracefs.root().join("events").join(&system)) else { continue };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        pairs.extend(names.map(|name| (system.clone(), name)));
    }
    let metadata = tracefs.metadata(&pairs).unwrap();
    assert!(metadata.event_formats.len() > 100);
    let mut as_fields = Vec::new();
    for (system, text) in &metadata.event_formats {
        let format = ftrace::format::EventFormat::parse(system, text, ByteOrder::NATIVE).unwrap();
        let lines = text.lines().filter(|line| line.trim_start().starts_with("field:")).count();
        assert_eq!(format.fields.len(), lines, "{system}:{}", format.name);
        for field in &format.fields {
            assert!(!field.name.contains(char::is_whitespace) && !field.type_name.is_empty(), "{field:?}");
        }
        if !EventPrinter::interprets(&format) {
            as_fields.push(format!("{system}:{} {}", format.name, format.print_fmt));
        }
    }
    let share = as_fields.len() * 100 / metadata.event_formats.len();
    assert!(share < 2, "{share} % of the events are printed as names and values:\n{}", as_fields.join("\n"));
    eprintln!("{} of {} events are printed as names and values", as_fields.len(), metadata.event_formats.len());
}
