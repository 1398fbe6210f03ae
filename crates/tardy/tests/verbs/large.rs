//! Machines with many CPUs and runs of many days: files and output stay bounded, and every CPU has its totals.
//!
//! The sizes are printed; docs/explanation/security.md lists them. `make torture` uses larger ones.

use archive::counters::CounterSecond;
use archive::histogram::{Histogram, bucket_of};
use archive::message::{Ending, FileKind, Message, RunPhase, ThreadProgress};
use archive::sample::{Sample, Second, Totals};
use archive::spike::SpikeReason;
use fixtures::fake_meter::{Bench, end, hello, load, phase, spike};
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

const SECOND_NS: i64 = 1_000_000_000;
const DAY_S: u32 = 86_400;
const WORST_NS: i64 = 153_214;
/// Longer than any verb takes on a busy machine.
const TIME_MAX: Duration = Duration::from_secs(300);
/// Number of seconds that the meter sends at once.
const SECONDS_AT_ONCE: usize = 4096;

/// The size of a run.
struct Size {
    cpus: u32,
    seconds: u32,
    worst: u32,
}

fn latency_ns(cpu: u32, second: u32) -> i64 {
    // The worst wake-up of each CPU is in one of its seconds.
    if second == 7 { WORST_NS } else { 2_000 + i64::from(cpu * 7919 + second * 1_009) % 40_000 }
}

fn thread(cpu: u32, size: &Size) -> Message {
    let cycles = u64::from(size.seconds) * 1000;
    let counts: Vec<(u32, u64)> =
        (0..300).map(|step| (bucket_of(2_000 + step * 130).unwrap() as u32, 1 + step as u64)).collect();
    let histogram = Histogram { buckets: counts }.normalised();
    let sample = |latency_ns| Sample { cpu, cycle: 5, due_ns: 3 * SECOND_NS, latency_ns };
    let worst: Vec<Sample> = (0..size.worst).map(|rank| sample(WORST_NS - i64::from(rank))).collect();
    let totals = Totals {
        cycles,
        latency_ns_min: Some(2_000),
        latency_ns_max: Some(WORST_NS),
        latency_ns_sum: cycles as i64 * 4_000,
        worst: Some(sample(WORST_NS)),
        ..Totals::default()
    };
    Message::Thread { thread: cpu, cpu, totals, histogram, worst }
}

/// A meter with measurements of this size.
fn bench(size: &Size) -> Bench {
    let progress =
        |cpu| ThreadProgress { thread: cpu, cpu, cycles: 10, latency_ns_last: 5, latency_ns_max: 9, missed_periods: 0 };
    let seconds = (0..size.seconds).flat_map(|second| {
        (0..size.cpus).map(move |cpu| Second {
            thread: cpu,
            second,
            cycles: 1000,
            latency_ns_max: latency_ns(cpu, second),
            ..Second::default()
        })
    });
    let seconds: Vec<Second> = seconds.collect();
    let mut messages = vec![
        hello(),
        phase(RunPhase::Check, 1),
        phase(RunPhase::Measure, SECOND_NS),
        Message::Progress { threads: (0..size.cpus).map(progress).collect(), snapshots: 1 },
    ];
    messages.extend(seconds.chunks(SECONDS_AT_ONCE).map(|part| Message::Seconds(part.to_vec())));
    let bench = Bench::new().says(&messages).sends(1, FileKind::SpikeTrace { spike: 1 }, b"trace");
    let counters = CounterSecond::default();
    let mut last = vec![
        spike(1, WORST_NS, SpikeReason::NewMaximum),
        load("messaging"),
        Message::Counters(vec![counters]),
        phase(RunPhase::Collect, SECOND_NS * (1 + i64::from(size.seconds))),
    ];
    last.extend((0..size.cpus).map(|cpu| thread(cpu, size)));
    last.push(end(Ending::Complete));
    bench.says(&last)
}

/// Peak memory of a verb that succeeds, in kB.
fn peak_kb(bench: &Bench, words: &[&str], memory_kb_max: u64) -> u64 {
    let output = |name: &str| Stdio::from(fs::File::create(bench.path(name)).unwrap());
    let mut child =
        bench.tardy(words).stdin(Stdio::null()).stdout(output("stdout")).stderr(output("stderr")).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let (started, mut peak) = (Instant::now(), 0);
    let ended = loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let now = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        peak = peak.max(now.unwrap_or(0));
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        assert!(started.elapsed() < TIME_MAX, "{words:?} does not end");
        std::thread::sleep(Duration::from_millis(2));
    };
    let said = fs::read_to_string(bench.path("stderr")).unwrap();
    let printed = || fs::read_to_string(bench.path("stdout")).unwrap();
    assert!(matches!(ended.code(), Some(0 | 1 | 4)), "{words:?}: {ended}: {said}{}", printed());
    assert!(!said.contains("a defect"), "{words:?}: {said}");
    assert!(peak < memory_kb_max, "{words:?}: {peak} kB");
    peak
}

fn bytes(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |found| found.len())
}

/// Runs every verb on it and prints the size of each output. The page is bounded for any size of the run.
fn follow(size: &Size, memory_kb_max: u64) {
    let bench = bench(size);
    let run = peak_kb(&bench, &["run", "-D", &format!("{}s", size.seconds), "--out", "run"], memory_kb_max);
    let archive = bench.path("run");
    let opened = archive::reader::Run::open(&archive).unwrap();
    assert_eq!(opened.gaps, []);
    assert_eq!(opened.threads.len(), size.cpus as usize, "every CPU has its totals");
    assert!(opened.threads.values().all(|thread| thread.totals.cycles == u64::from(size.seconds) * 1000));
    assert!(opened.threads.values().all(|thread| thread.seconds.len() == size.seconds as usize));
    drop(opened);
    let list = peak_kb(&bench, &["list", "."], memory_kb_max);
    let listed = bytes(&bench.path("stdout"));
    let summary = peak_kb(&bench, &["export", "run", "--format", "json", "-o", "summary.json"], memory_kb_max);
    let report = peak_kb(&bench, &["report", "run"], memory_kb_max);
    let judge = peak_kb(&bench, &["judge", "run", "--limit", "latency < 1ms", "--accept", "unknown"], memory_kb_max);
    let page = bytes(&archive.join("report.html"));
    println!(
        "{} CPUs, {} s, {} worst samples each: stream {} kB, page {} kB, summary {} kB, list {} bytes; \
         memory in MB: run {}, list {}, summary {}, report {}, judge {}",
        size.cpus,
        size.seconds,
        size.worst,
        bytes(&archive.join("stream.tardy")) >> 10,
        page >> 10,
        bytes(&bench.path("summary.json")) >> 10,
        listed,
        run >> 10,
        list >> 10,
        summary >> 10,
        report >> 10,
        judge >> 10
    );
    assert!(page < 24 << 20, "{page}");
    assert!(listed < 4096, "{listed}");
}

#[test]
fn a_machine_of_512_cpus_is_recorded_listed_reported_and_judged() {
    follow(&Size { cpus: 512, seconds: 20, worst: 20 }, 768 << 10);
}

#[test]
fn a_run_of_a_day_is_recorded_listed_reported_and_judged() {
    follow(&Size { cpus: 1, seconds: DAY_S, worst: 20 }, 768 << 10);
}

#[test]
#[ignore = "takes minutes: make torture"]
fn torture_512_cpus_for_an_hour_and_one_for_thirty_days() {
    follow(&Size { cpus: 512, seconds: 3600, worst: 1000 }, 4 << 20);
    follow(&Size { cpus: 1, seconds: 30 * DAY_S, worst: 1000 }, 4 << 20);
}
