//! Meters that never stop sending, and archives of what they sent: time, memory and disk of the host stay bounded.

use archive::frame::Encoder;
use archive::histogram::Histogram;
use archive::layout::FileKind;
use archive::message::{Message, RunPhase, Severity};
use archive::sample::{Second, Totals};
use archive::spike::SpikeReason;
use fixtures::fake_meter::{Bench, hello, manifest_of, phase, problem, progress, spike};
use fixtures::waiting::wait_until;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Memory of a host that records a flood, and of a verb that reads one, in kB.
const HOST_KB_MAX: u64 = 64 << 10;
const READER_KB_MAX: u64 = 256 << 10;
/// Longer than a host takes on a busy machine; without a bound it would never end.
const TIME_MAX: Duration = Duration::from_secs(60);
const PROBLEMS_BYTES: usize = 96 << 20;

/// How a verb ended: peak of its own memory in kB, without the pages of its program, which is large in a debug build; open files;
/// standard error.
struct Watched {
    code: Option<i32>,
    peak_kb: u64,
    files: usize,
    said: String,
}

fn watched(bench: &Bench, words: &[&str]) -> Watched {
    let output = |name: &str| Stdio::from(File::create(bench.path(name)).unwrap());
    let mut child =
        bench.tardy(words).stdin(Stdio::null()).stdout(output("stdout")).stderr(output("stderr")).spawn().unwrap();
    let place = format!("/proc/{}", child.id());
    let (started, mut peak_kb, mut files) = (Instant::now(), 0, 0);
    let code = loop {
        let text = fs::read_to_string(format!("{place}/status")).unwrap_or_default();
        let now = text.lines().find_map(|line| line.strip_prefix("RssAnon:")?.trim().strip_suffix(" kB")?.parse().ok());
        peak_kb = peak_kb.max(now.unwrap_or(0));
        files = files.max(fs::read_dir(format!("{place}/fd")).map_or(0, Iterator::count));
        if let Some(ended) = child.try_wait().unwrap() {
            break ended.code();
        }
        if started.elapsed() > TIME_MAX {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{words:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    Watched { code, peak_kb, files, said: fs::read_to_string(bench.path("stderr")).unwrap() }
}

fn bytes_below(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
    entries
        .map(|entry| if entry.path().is_dir() { bytes_below(&entry.path()) } else { entry.metadata().unwrap().len() })
        .sum()
}

/// A meter that sends a thousand of these for ever, and does not hear.
fn flooding(message: impl Fn(u32) -> Message) -> Bench {
    let flood: Vec<Message> = (0..1000).map(message).collect();
    Bench::new()
        .says(&[hello(), phase(RunPhase::Measure, 2_000_000_000), progress()])
        .says(&flood)
        .does("while :; do cat \"$here/piece-1\"; done")
}

#[test]
fn a_meter_that_never_stops_sending_does_not_exhaust_its_host() {
    let totals = |thread| Message::Thread {
        thread,
        cpu: thread,
        totals: Totals::default(),
        histogram: Histogram { buckets: (0..500).map(|bucket| (bucket, 1)).collect() },
        worst: Vec::new(),
    };
    let second = |number| (0..200).map(|thread| Second { thread, second: number, ..Second::default() }).collect();
    let floods: [(&str, Bench); 5] = [
        ("problems", flooding(|_| problem(Severity::Notice, "a long word about nothing", ""))),
        ("CPUs", flooding(totals)),
        ("seconds", flooding(|number| Message::Seconds(second(number)))),
        ("files", flooding(|file| Message::FileBegin { file, kind: FileKind::SpikeTrace { spike: file } })),
        ("spikes", flooding(|number| spike(number, 1000, SpikeReason::NewMaximum))),
    ];
    for (name, bench) in floods {
        let ended = watched(&bench, &["run", "-D", "1s", "--cpus", "0", "--out", "run"]);
        let manifest = manifest_of(&bench.path("run"));
        assert_eq!(manifest["state"], "failed", "{name}: {}", ended.said);
        assert_eq!(manifest["problem"]["code"], "run.too-much", "{name}: {}", ended.said);
        assert!(ended.peak_kb < HOST_KB_MAX, "{name}: {} kB", ended.peak_kb);
        assert!(ended.files < 128, "{name}: {} open files", ended.files);
        assert!(bytes_below(&bench.path("run")) < 64 << 20, "{name}: {} bytes", bytes_below(&bench.path("run")));
    }
}

/// A meter that sends what its run may send, for ever, and does not hear.
fn deaf() -> Bench {
    Bench::new()
        .says(&[hello(), phase(RunPhase::Measure, 2_000_000_000)])
        .says(&[progress()])
        .does("trap '' INT TERM; while :; do cat \"$here/piece-1\"; sleep 0.05; done")
}

#[test]
fn a_second_interrupt_ends_the_host_of_a_meter_that_does_not_hear() {
    let bench = deaf();
    let mut child = bench
        .tardy(&["run", "-D", "1h", "--cpus", "0", "--out", "run"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid = Pid::from_child(&child);
    let stream = bench.path("run").join("stream.tardy");
    wait_until("the run measures", || fs::metadata(&stream).is_ok_and(|stream| stream.len() > 0));
    // The first one asks the meter to stop.
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(300));
        kill_process(pid, Signal::INT).unwrap();
    }
    wait_until("the host ends", || child.try_wait().unwrap().is_some());
    assert_eq!(manifest_of(&bench.path("run"))["state"], "interrupted");
}

#[test]
fn an_archive_of_a_flood_is_reported_and_explained_within_bounded_memory() {
    let bench = Bench::new().says(&[hello(), phase(RunPhase::Measure, 2_000_000_000), progress()]);
    let ended = bench.run(&["run", "-D", "1s", "--out", "run"]);
    let stream = bench.path("run").join("stream.tardy");
    let mut stream = OpenOptions::new().append(true).open(stream).unwrap_or_else(|_| panic!("{}", ended.stderr));
    let mut encoder = Encoder::default();
    let problems: Vec<u8> =
        (0..1000).flat_map(|_| encoder.message(&problem(Severity::Notice, &"a word ".repeat(20), ""))).collect();
    for _ in 0..PROBLEMS_BYTES / problems.len() {
        stream.write_all(&problems).unwrap();
    }
    drop(stream);
    for words in [&["report", "run"][..], &["explain", "run"]] {
        let ended = watched(&bench, words);
        assert!(matches!(ended.code, Some(0 | 1)), "{words:?}: {}", ended.said);
        assert!(ended.peak_kb < READER_KB_MAX, "{words:?}: {} kB", ended.peak_kb);
    }
    let page = fs::read_to_string(bench.path("run").join("report.html")).unwrap();
    assert!(page.contains("archive.records-left-out"), "{} bytes", page.len());
    assert!(page.len() < 24 << 20, "{}", page.len());
}
