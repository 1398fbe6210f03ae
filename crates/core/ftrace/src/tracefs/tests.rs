//! Tests on a synthetic tree in a temporary directory instead of the kernel's.

use std::fs;

use super::*;
use crate::cpu_stats::CpuStats;
use crate::trace_dat::{CpuBytes, TraceDat, TraceFile};

fn tree() -> (tempfile::TempDir, Tracefs) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for (path, text) in [
        ("trace_clock", "local [mono] boot x86-tsc\n"),
        ("available_tracers", "blk function nop\n"),
        ("current_tracer", "nop\n"),
        ("tracing_on", "1\n"),
        ("set_event", ""),
        ("buffer_subbuf_size_kb", "4\n"),
        ("saved_cmdlines", "12 loop\n"),
        ("printk_formats", "0x10 : \"text\"\n"),
        ("events/header_page", "field: local_t commit; offset:8; size:8;\nfield: char data; offset:16; size:4080;\n"),
        ("events/header_event", "# compressed entry header\n"),
        ("events/sched/sched_switch/format", "name: sched_switch\nID: 3\n"),
        ("events/ftrace/print/format", "name: print\nID: 5\n"),
        ("events/ftrace/print/trigger", ""),
    ] {
        write(root, path, text);
    }
    fs::create_dir(root.join("instances")).unwrap();
    let tracefs = Tracefs::at(root);
    (folder, tracefs)
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A new instance with the files that the kernel would create.
fn instance(tracefs: &Tracefs, name: &str) -> Instance {
    let instance = tracefs.create_instance(name).unwrap();
    for file in ["trace_clock", "tracing_on", "set_event_notrace_pid", "trace", "trace_marker", "buffer_size_kb"] {
        write(instance.path(), file, "");
    }
    for file in ["enable", "filter", "trigger", "format"] {
        write(instance.path(), &format!("events/sched/sched_switch/{file}"), "");
    }
    instance
}

fn said(instance: &Instance, file: &str) -> String {
    fs::read_to_string(instance.path().join(file)).unwrap()
}

#[test]
fn reports_what_the_kernel_can_do() {
    let (_folder, tracefs) = tree();
    let capabilities = tracefs.capabilities();
    assert!(!capabilities.snapshot && !capabilities.hist_triggers && !capabilities.notrace_pids);
    assert!(capabilities.print_trigger && capabilities.instances);
    assert_eq!(capabilities.clocks, ["local", "mono", "boot", "x86-tsc"]);
    assert_eq!(capabilities.current_clock, "mono");
    assert!(capabilities.has_clock("boot") && capabilities.has_tracer("function"));
    assert_eq!((capabilities.subbuf_size_kb, capabilities.current_tracer.as_str()), (Some(4), "nop"));
    assert_eq!(capabilities.event_systems, ["ftrace", "sched"]);
    assert_eq!(Tracefs::at("/nonexistent").capabilities(), Capabilities::default());
}

#[test]
fn names_the_fix_when_nothing_is_mounted() {
    let error = Tracefs::at("/nonexistent").check().unwrap_err();
    assert!(error.is_missing());
    assert!(error.to_string().contains("mount -t tracefs nodev /sys/kernel/tracing"), "{error}");
}

#[test]
fn finds_tracing_of_others_and_leaves_out_our_own() {
    let (folder, tracefs) = tree();
    assert_eq!(tracefs.foreign_tracing("ours_"), []);
    for (name, on, tracer, events) in [
        ("ours_1", "1", "wakeup", "sched:sched_switch\n"),
        ("theirs", "1", "nop", "sched:sched_switch\nirq:irq_handler_entry\n"),
        ("stopped", "0", "function", ""),
    ] {
        for (file, text) in [("tracing_on", on), ("current_tracer", tracer), ("set_event", events)] {
            write(folder.path(), &format!("instances/{name}/{file}"), text);
        }
    }
    write(folder.path(), "current_tracer", "function\n");
    let found = tracefs.foreign_tracing("ours_");
    let [top, theirs] = &found[..] else { panic!("{found:?}") };
    assert_eq!((top.instance.as_deref(), top.tracer.as_deref(), top.events.len()), (None, Some("function"), 0));
    assert_eq!((theirs.instance.as_deref(), theirs.tracer.as_deref(), theirs.events.len()), (Some("theirs"), None, 2));
}

#[test]
fn events_of_others_are_looked_for_where_records_are_new() {
    let (folder, tracefs) = tree();
    let stats = |entries: u64| {
        let text = format!("entries: {entries}\noverrun: 0\nread events: 1\n");
        write(folder.path(), "instances/theirs/per_cpu/cpu0/stats", &text);
    };
    write(folder.path(), "instances/theirs/tracing_on", "1");
    write(folder.path(), "instances/theirs/current_tracer", "nop");
    write(folder.path(), "instances/theirs/set_event", "");
    stats(0);
    let mut written = Written::default();
    let mut look = || tracefs.foreign_tracing_since("ours_", &mut written, &|| ()).len();
    assert_eq!(look(), 0);
    write(folder.path(), "instances/theirs/set_event", "sched:sched_switch\n");
    assert_eq!(look(), 0, "it has recorded nothing yet");
    stats(5);
    assert_eq!(look(), 1);
    write(folder.path(), "instances/theirs/current_tracer", "function\n");
    assert_eq!(look(), 1, "a tracer costs time whether it records or not");
}

#[test]
fn instances_are_made_listed_and_removed_but_never_taken_over() {
    let (_folder, tracefs) = tree();
    let made = tracefs.create_instance("ours_1").unwrap();
    assert_eq!(tracefs.instances(), ["ours_1"]);
    assert!(matches!(tracefs.create_instance("ours_1"), Err(TracefsError::InstanceExists { .. })));
    drop(made.clone());
    assert_eq!(tracefs.instances(), ["ours_1"], "dropping removes nothing");
    made.remove().unwrap();
    assert!(tracefs.instances().is_empty());
    assert!(tracefs.remove_instance("ours_1").unwrap_err().is_missing());
    for name in ["", "..", "a/b"] {
        assert!(matches!(tracefs.create_instance(name), Err(TracefsError::InstanceName { .. })));
    }
}

#[test]
fn settings_become_the_texts_the_kernel_expects() {
    let (_folder, tracefs) = tree();
    let instance = instance(&tracefs, "ours");
    instance.set_clock("mono").unwrap();
    instance.set_buffer_size_kb(1024).unwrap();
    instance.set_tracing_on(true).unwrap();
    instance.set_tracing_on(false).unwrap();
    instance.set_notrace_pids(&[4, 17]).unwrap();
    instance.set_event_filter("sched", "sched_switch", "next_pid == 4").unwrap();
    instance.add_trigger("sched", "sched_switch", "stacktrace").unwrap();
    instance.remove_trigger("sched", "sched_switch", "stacktrace").unwrap();
    assert!(instance.enable_event("sched", "sched_switch").unwrap());
    assert!(!instance.enable_event("sched", "no_such_event").unwrap());
    let said: Vec<String> = [
        "trace_clock",
        "buffer_size_kb",
        "tracing_on",
        "set_event_notrace_pid",
        "events/sched/sched_switch/filter",
        "events/sched/sched_switch/trigger",
        "events/sched/sched_switch/enable",
    ]
    .iter()
    .map(|file| said(&instance, file))
    .collect();
    assert_eq!(said, ["mono", "1024", "0", "4 17", "next_pid == 4", "stacktrace!stacktrace", "1"]);
}

#[test]
fn a_kernel_without_snapshots_is_named_by_its_option() {
    let (_folder, tracefs) = tree();
    let error = instance(&tracefs, "ours").take_snapshot().unwrap_err();
    assert!(error.to_string().contains("CONFIG_TRACER_SNAPSHOT"), "{error}");
}

#[test]
fn snapshots_are_taken_cleared_freed_and_read() {
    let (_folder, tracefs) = tree();
    let instance = instance(&tracefs, "ours");
    write(instance.path(), "snapshot", "");
    instance.take_snapshot().unwrap();
    assert_eq!(said(&instance, "snapshot"), "1");
    instance.clear_snapshot().unwrap();
    assert_eq!(said(&instance, "snapshot"), "2");
    instance.free_snapshot().unwrap();
    assert_eq!(said(&instance, "snapshot"), "0");
    write(instance.path(), "per_cpu/cpu0/snapshot_raw", &"s".repeat(4096));
    let mut pages = Vec::new();
    assert_eq!(instance.open_snapshot_raw(0).unwrap().drain_into(&mut pages, usize::MAX).unwrap(), 4096);
}

#[test]
fn reads_whole_pages_and_pads_a_short_one() {
    let (_folder, tracefs) = tree();
    let instance = instance(&tracefs, "ours");
    write(instance.path(), "buffer_subbuf_size_kb", "8\n");
    fs::create_dir_all(instance.path().join("per_cpu/cpu10")).unwrap();
    write(instance.path(), "per_cpu/cpu2/trace_pipe_raw", &"x".repeat(8192 + 100));
    write(instance.path(), "per_cpu/cpu2/stats", "entries: 7\noverrun: 2\n");
    assert_eq!(instance.cpus(), [2, 10]);
    assert_eq!(instance.cpu_stats(2).unwrap(), CpuStats { entries: 7, overrun: 2, ..CpuStats::default() });
    let mut raw = instance.open_raw(2).unwrap();
    let mut pages = Vec::new();
    assert_eq!(raw.layout().page_size, 8192);
    let sizes: Vec<usize> = (0..3).map(|_| raw.read_into(&mut pages).unwrap()).collect();
    assert_eq!((sizes, pages.len()), (vec![8192, 8192, 0], 16384));
    assert_eq!((pages[8291], pages[8292]), (b'x', 0));
}

#[test]
fn metadata_holds_the_wanted_formats_and_those_of_ftrace() {
    let (_folder, tracefs) = tree();
    let metadata = tracefs.metadata(&[("sched", "sched_switch"), ("sched", "absent")]).unwrap();
    let systems: Vec<&str> = metadata.event_formats.iter().map(|(system, _)| system.as_str()).collect();
    assert_eq!(systems, ["ftrace", "sched"]);
    assert_eq!(metadata.saved_cmdlines, "12 loop\n");
}

#[test]
fn the_buffers_of_512_cpus_are_listed_read_and_kept_in_one_file() {
    let (_folder, tracefs) = tree();
    let instance = instance(&tracefs, "ours");
    let layout = instance.page_layout().unwrap();
    let mut page = 1_000_000u64.to_ne_bytes().to_vec();
    page.extend(0u64.to_ne_bytes());
    page.resize(layout.page_size, 0);
    for cpu in 0..512 {
        write(instance.path(), &format!("per_cpu/cpu{cpu}/stats"), &format!("entries: {cpu}\noverrun: 1\n"));
        let path = instance.path().join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        fs::write(path, &page).unwrap();
    }
    let cpus = instance.cpus();
    assert_eq!(cpus, (0..512).collect::<Vec<u32>>());
    assert!(cpus.iter().all(|cpu| instance.cpu_stats(*cpu).unwrap().entries == u64::from(*cpu)));
    let pages: Vec<Vec<u8>> = cpus
        .iter()
        .map(|cpu| {
            let mut pages = Vec::new();
            instance.open_raw(*cpu).unwrap().read_into(&mut pages).unwrap();
            pages
        })
        .collect();
    assert!(pages.iter().all(|pages| *pages == page));
    let metadata = instance.metadata(&[("sched", "sched_switch")]).unwrap();
    let cpus = cpus.iter().zip(&pages).map(|(cpu, pages)| CpuBytes { cpu: *cpu, pages, stats: None }).collect();
    let file = TraceDat { metadata: &metadata, layout, clock: "mono", uname: "", version: "", cpu_count: 512, cpus };
    let file = file.to_vec();
    let read = TraceFile::parse(&file);
    assert_eq!((read.gaps.as_slice(), read.buffers[0].cpus.len()), (&[][..], 512));
}
