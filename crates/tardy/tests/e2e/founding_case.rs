//! The case that motivated tardy, on real kernels: many directory entries on the CPUs of real-time threads, the
//! kernel's function tracer, and a snapshot at each new maximum.

use crate::inspected::Inspected;
use crate::lab::{Lab, is_function_name};
use crate::traced::{Traced, events};
use archive::reader::Run;
use archive::settings::{LoadRequest, RunSettings, SettingChange, SnapshotMode, TraceSettings};
use archive::spike::{Snapshot, Spike, SpikeReason};
use archive::tracer::TracerSettings;
use serde_json::Value;
use std::time::Duration;

/// Kernels to test on, each with its architecture before a slash unless that is x86_64; `TARDY_E2E_KERNELS="debian:6.12
/// armhf/debian:6.1-rt" make e2e` selects others.
const KERNELS: &str = "TARDY_E2E_KERNELS";
const KERNELS_DEFAULT: &str = "debian:6.1-rt debian:6.1 debian:6.12-rt arm64/debian:6.1-rt";
/// Spikes below this are ignored.
const THRESHOLD_NS: i64 = 1_000_000;
/// An emulated CPU that is stopped between selecting a buffer and writing to it writes to the buffer that was swapped
/// away.
const SWAP_LASTS_NS: i64 = 20_000_000;
/// Functions that the dentry load calls, and functions that wake threads.
const ARM64_FUNCTIONS: &[&str] =
    &["d_*", "__d_*", "*dentry*", "shmem_*", "do_unlinkat", "path_openat", "hrtimer_*", "try_to_wake_up", "schedule"];
/// An emulated CPU needs a while between reading the time and writing the marker.
const MARGIN_AFTER_NS: i64 = 100_000_000;
/// Limit for arming the tracer on a busy host.
const PATIENCE: Duration = Duration::from_secs(600);
/// Boot parameters of the machine: unusual values, so that restoring them differs from setting a usual value.
const ODD: &str = "sysctl.kernel.sched_rt_runtime_us=876543 sysctl.vm.stat_interval=7 trace_clock=boot";
const RT_RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";
const STAT_INTERVAL: &str = "/proc/sys/vm/stat_interval";
const TRACE_CLOCK: &str = "/sys/kernel/tracing/trace_clock";
/// Files whose contents must be the same before and after the run.
const KEPT: &[&str] = &[
    RT_RUNTIME,
    STAT_INTERVAL,
    TRACE_CLOCK,
    "/proc/sys/kernel/ftrace_enabled",
    "/proc/sys/kernel/stack_tracer_enabled",
    "/sys/kernel/tracing/current_tracer",
    "/sys/kernel/tracing/enabled_functions",
    "/sys/kernel/tracing/set_event",
    "/sys/kernel/tracing/set_ftrace_filter",
    "/sys/kernel/tracing/set_ftrace_pid",
    "/sys/kernel/tracing/trace_options",
    "/sys/kernel/tracing/tracing_max_latency",
    "/sys/kernel/tracing/tracing_on",
    "/sys/kernel/tracing/tracing_thresh",
];

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn every_new_maximum_under_dentry_load_is_traced_accounted_for_and_named() {
    let kernels = std::env::var(KERNELS).unwrap_or_else(|_| KERNELS_DEFAULT.into());
    for kernel in kernels.split_whitespace() {
        let (architecture, series) = kernel.split_once('/').unwrap_or(("x86_64", kernel));
        founding_case(architecture, series);
    }
}

fn settings(architecture: &str) -> RunSettings {
    // An emulated arm64 that traces every function gets nothing else done.
    let functions = if architecture == "arm64" { ARM64_FUNCTIONS } else { &[] };
    let tracer = TracerSettings {
        name: "function".into(),
        functions: functions.iter().map(|glob| (*glob).to_owned()).collect(),
        ..TracerSettings::default()
    };
    let change = |path: &str, value: &str| SettingChange { path: path.into(), value: value.into() };
    let trace = TraceSettings {
        mode: SnapshotMode::Auto,
        threshold_ns: THRESHOLD_NS,
        controls: 0,
        buffer_kb_per_cpu: 16 << 10,
        margin_after_ns: MARGIN_AFTER_NS as u64,
        tracer: Some(tracer),
        ..TraceSettings::default()
    };
    RunSettings {
        duration_ns: Some(6_000_000_000),
        trace,
        loads: vec![LoadRequest::Builtin { name: "dentry".into(), workers: 0 }],
        settings: vec![change(RT_RUNTIME, "-1"), change(STAT_INTERVAL, "60")],
        ..RunSettings::default()
    }
}

fn founding_case(architecture: &str, series: &str) {
    let kernel = format!("{architecture}/{series}");
    // Linux 6.12 panics occasionally while an emulator with one thread per CPU makes it patch all its functions.
    let accel = if series.contains("6.12") { "tcg-single" } else { "tcg" };
    let lab = Lab::with(series, &["--arch", architecture, "--append", ODD, "--accel", accel]);
    let mut target = Inspected::new(lab.machine(), KEPT, &lab.path(""));
    let settings = settings(architecture);
    target.measure(settings, lab.path("run"), PATIENCE);
    assert_settings_are_back(&kernel, &target);

    let run = lab.archive();
    assert_machine(&kernel, series, &run);
    let explained = lab.tardy(&["explain", "run", "--json"]).output().unwrap();
    let explained: Value = serde_json::from_slice(&explained.stdout).unwrap();
    let account = |spike: &Spike| {
        let entries = explained["spikes"].as_array().unwrap();
        entries.iter().find(|entry| entry["spike"] == spike.number).unwrap_or(&Value::Null)
    };
    // With a selection of functions, none of them runs in some spikes.
    let every_function = architecture != "arm64";
    let (mut whole, mut named) = (0, 0);
    for spike in &run.spikes {
        let name = format!("{kernel}, spike {}", spike.number);
        assert_eq!(spike.reason, SpikeReason::NewMaximum, "{name}");
        assert!(spike.sample.latency_ns >= THRESHOLD_NS, "{name}");
        let Some(snapshot) = &spike.snapshot else { continue };
        let events = events(&lab.path(&format!("run/spikes/{:04}/trace.dat", spike.number)));
        assert_fresh(&name, &events, &run, snapshot);
        assert_ledger(&name, spike, account(spike));
        if is_whole(spike, snapshot) {
            whole += 1;
            assert_trace(&name, &events, spike, snapshot);
            let function = function_of(account(spike));
            // A machine that its host stopped ran nothing, and the tool's own threads are recognised by their names.
            let culprit = account(spike)["findings"][0]["culprit"].as_str();
            let without = culprit.is_some_and(|it| ["silence", "steal", "own-tool"].contains(&it));
            assert!(
                function.is_some() || without || !every_function,
                "{name}: no function is named; {}",
                account(spike)
            );
            named += usize::from(function.is_some());
            eprintln!("{name}: {} us, most in {}", spike.sample.latency_ns / 1000, function.unwrap_or("?"));
        } else {
            eprintln!("{name}: {}", shortfall(spike, snapshot));
        }
    }
    eprintln!("{kernel}: {} spikes, {whole} with everything from due to seen in their snapshot", run.spikes.len());
    assert!(whole > 0, "{kernel}: no snapshot holds its whole spike");
    assert!(named > 0, "{kernel}: no function is named");
}

fn assert_settings_are_back(kernel: &str, target: &Inspected) {
    let (before, after) = (target.before.as_ref().unwrap(), target.after.as_ref().unwrap());
    assert_eq!(before[RT_RUNTIME].as_deref(), Some("876543\n"), "{kernel}: the machine has odd values");
    assert_eq!(before[STAT_INTERVAL].as_deref(), Some("7\n"), "{kernel}");
    assert!(before[TRACE_CLOCK].as_ref().unwrap().contains("[boot]"), "{kernel}");
    for path in KEPT {
        assert_eq!(before[*path], after[*path], "{kernel}: {path}");
    }
}

fn assert_machine(kernel: &str, series: &str, run: &Run) {
    assert!(run.gaps.is_empty(), "{kernel}: {:?}", run.gaps);
    assert!(run.manifest.as_ref().unwrap().emulated, "{kernel}");
    let environment = run.environment.as_ref().unwrap();
    let (version, real_time) = series
        .strip_prefix("debian:")
        .unwrap()
        .split_once('-')
        .map_or_else(|| (series.trim_start_matches("debian:"), false), |(version, _)| (version, true));
    assert!(environment.kernel_release.starts_with(version), "{kernel}: {environment:?}");
    assert_eq!(environment.preempt_rt, Some(real_time), "{kernel}");
    assert_eq!(environment.hostname, "vm", "{kernel}");
    assert_eq!(environment.virtualisation.as_deref(), Some("qemu"), "{kernel}");
    let effective = run.effective.as_ref().unwrap();
    assert_eq!(effective.snapshot_mode, SnapshotMode::Trigger, "{kernel}");
    assert_eq!(effective.tracer.as_deref(), Some("function"), "{kernel}");
    assert!(run.loads.iter().all(|load| load.alive && load.progress > 0), "{kernel}: {:?}", run.loads);
}

/// Whether the trace of the spike's CPU covers due to seen. A spike during the copy of another may share a snapshot
/// that was taken long afterwards, and functions fill a buffer within a second.
fn is_whole(spike: &Spike, snapshot: &Snapshot) -> bool {
    let coverage = snapshot.coverage.iter().find(|coverage| coverage.cpu == spike.sample.cpu);
    coverage.is_some_and(|of| {
        of.oldest_ns.is_some_and(|oldest| oldest <= spike.sample.due_ns) && of.newest_ns >= Some(spike.sample.seen_ns())
    })
}

/// Missing parts of the trace of a spike.
fn shortfall(spike: &Spike, snapshot: &Snapshot) -> String {
    let Some(of) = snapshot.coverage.iter().find(|coverage| coverage.cpu == spike.sample.cpu) else {
        return "no buffer of its CPU".into();
    };
    let late_us = of.oldest_ns.map(|oldest| (oldest - spike.sample.due_ns) / 1000);
    let short_us = of.newest_ns.map(|newest| (spike.sample.seen_ns() - newest) / 1000);
    format!(
        "{} us; its trace begins {late_us:?} us after due, ends {short_us:?} us before seen, {} events overwritten",
        spike.sample.latency_ns / 1000,
        of.overwritten
    )
}

/// Nothing occurs twice: no event is from a time whose events of that CPU an earlier snapshot took. Older events may
/// occur later, if two markers close together swapped twice and the recorder fetched back what the second had hidden.
fn assert_fresh(name: &str, events: &[Traced], run: &Run, snapshot: &Snapshot) {
    let others = run.spikes.iter().filter_map(|spike| spike.snapshot.as_ref());
    let earlier: Vec<_> = others.filter(|other| other.frozen_ns < snapshot.frozen_ns).collect();
    let taken = |event: &Traced| {
        let intervals = earlier.iter().flat_map(|other| &other.coverage).filter(|coverage| coverage.cpu == event.cpu);
        let mut ends = intervals.filter_map(|coverage| coverage.oldest_ns.zip(coverage.newest_ns));
        ends.any(|(oldest, newest)| (oldest..=newest - SWAP_LASTS_NS).contains(&event.ns))
    };
    let stale = events.iter().find(|event| taken(event));
    assert!(stale.is_none(), "{name}: {stale:?} was in an earlier snapshot; {snapshot:?} after {earlier:?}");
}

/// It contains functions, and the marker as the last line of a snapshot, unless that was taken much later.
fn assert_trace(name: &str, events: &[Traced], spike: &Spike, snapshot: &Snapshot) {
    let (due_ns, seen_ns) = (spike.sample.due_ns, spike.sample.seen_ns());
    let is_inside = |ns: i64| (due_ns..=seen_ns).contains(&ns);
    assert!(
        events.iter().any(|event| event.text.starts_with("function:") && is_inside(event.ns)),
        "{name}: no function"
    );
    if snapshot.frozen_ns <= seen_ns + MARGIN_AFTER_NS {
        let markers: Vec<_> = events.iter().filter(|event| event.text.contains("tardy-spike")).collect();
        let found = markers.iter().any(|marker| marker.ns >= due_ns);
        assert!(found, "{name}: no marker; due {due_ns}, seen {seen_ns}, {markers:?}, {snapshot:?}");
    }
}

fn assert_ledger(name: &str, spike: &Spike, account: &Value) {
    let phases = account["phases"].as_array().map_or(&[][..], |phases| phases);
    assert!(!phases.is_empty(), "{name}: no ledger; {account}");
    let owners = phases.iter().flat_map(|phase| phase["owners"].as_array().unwrap());
    let sum: i64 = owners.map(|owner| owner["ns"].as_i64().unwrap()).sum();
    assert_eq!(sum, spike.sample.latency_ns, "{name}");
}

/// The function that ran longest.
fn function_of(account: &Value) -> Option<&str> {
    account["functions"]["held"][0]["chain"][0].as_str().filter(|name| is_function_name(name))
}
