//! An archive can be opened whatever a crash, a cut or an attacker did to it.

use archive::frame::{Decoder, Encoder, Item};
use archive::histogram::Histogram;
use archive::manifest::{Manifest, RunState};
use archive::message::{Ending, FileKind, Message, RunPhase};
use archive::problem::{Code, Problem, Severity};
use archive::reader::{OpenError, Run};
use archive::sample::{Sample, Second, Totals};
use archive::settings::{RunSettings, SnapshotMode};
use archive::spike::{Snapshot, Spike, SpikeReason};
use archive::summary::RunSummary;
use archive::write_error::WriteError;
use archive::writer::{RunWriter, give_up};
use std::fs;

fn manifest() -> Manifest {
    Manifest {
        command: vec!["tardy".into(), "run".into()],
        started_unix_ns: 1,
        settings: Some(RunSettings::default()),
        ..Manifest::new("2026-01-02T03-04-05", "0", "local")
    }
}

fn sample(latency_ns: i64) -> Sample {
    Sample { cpu: 1, cycle: 4, due_ns: 1000, latency_ns }
}

fn messages() -> Vec<Message> {
    let totals = Totals {
        cycles: 2,
        latency_ns_min: Some(5),
        latency_ns_max: Some(7),
        latency_ns_sum: 12,
        worst: Some(sample(7)),
        ..Totals::default()
    };
    let spike = Spike {
        snapshot: Some(Snapshot {
            mode: SnapshotMode::Flip,
            frozen_ns: 2000,
            swap_ns: 1,
            blind_ns: 0,
            coverage: vec![],
            window_covered: true,
            trace_bytes: 4,
            steal_ns: None,
            put_aside_ns: None,
        }),
        ..Spike::new(1, 0, 9, sample(7), SpikeReason::NewMaximum)
    };
    vec![
        Message::Phase { phase: RunPhase::Measure, monotonic_ns: 10 },
        Message::FileBegin { file: 1, kind: FileKind::SpikeTrace { spike: 1 } },
        Message::FileEnd { file: 1, bytes: 4 },
        Message::Spike(Box::new(spike)),
        Message::Seconds(vec![Second { cycles: 2, latency_ns_max: 7, ..Second::default() }]),
        Message::Thread {
            thread: 0,
            cpu: 1,
            totals,
            histogram: Histogram { buckets: vec![(5, 1), (7, 1)] },
            worst: vec![sample(7)],
        },
        Message::Phase { phase: RunPhase::Collect, monotonic_ns: 30 },
        Message::End { ending: Ending::Complete, monotonic_ns: 40 },
    ]
}

/// The bytes a meter would send for `messages`, with the trace's four bytes between its start and end.
fn stream() -> Vec<u8> {
    let mut encoder = Encoder::default();
    let mut bytes = Vec::new();
    for message in messages() {
        if matches!(message, Message::FileEnd { .. }) {
            bytes.extend(encoder.chunk(1, 0, b"data"));
        }
        bytes.extend(encoder.message(&message));
    }
    bytes
}

fn items(bytes: &[u8]) -> Vec<Item> {
    let mut decoder = Decoder::default();
    let mut items = decoder.push(bytes);
    items.extend(decoder.finish());
    items
}

fn write(directory: &std::path::Path, bytes: &[u8]) -> RunWriter {
    let mut writer = RunWriter::create(directory, manifest()).unwrap();
    for item in items(bytes) {
        writer.store(&item).unwrap();
    }
    writer
}

#[test]
fn a_finished_run_reads_back_whole() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("run");
    write(&directory, &stream()).finish(RunState::Complete, None, 5).unwrap();
    let run = Run::open(&directory).unwrap();
    assert_eq!(run.gaps, []);
    assert_eq!(run.spike_trace(1).unwrap(), b"data");
    let summary = RunSummary::of(&run, &[]);
    assert!(summary.valid, "{:?}", summary.invalid_because);
    assert_eq!(summary.measured_ns, Some(20));
    assert_eq!(summary.cpus[0].latency_ns.p50, Some(5));
    assert_eq!(summary.cpus[0].latency_ns.p99_9999, Some(7));
}

#[test]
fn any_prefix_of_the_stream_opens_and_says_that_the_end_is_missing() {
    let whole = stream();
    for cut in (0..whole.len()).step_by(17) {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("run");
        drop(write(&directory, &whole[..cut]));
        let run = Run::open(&directory).unwrap();
        assert!(run.gaps.iter().any(|gap| gap.code == "archive.cut-off"), "cut at {cut}: {:?}", run.gaps);
        RunSummary::of(&run, &[]);
    }
}

#[test]
fn any_prefix_of_the_file_on_disk_opens() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("run");
    write(&directory, &stream()).finish(RunState::Complete, None, 5).unwrap();
    let path = directory.join("stream.tardy");
    let whole = fs::read(&path).unwrap();
    for cut in (0..whole.len()).rev().step_by(13) {
        fs::write(&path, &whole[..cut]).unwrap();
        let run = Run::open(&directory).unwrap();
        assert!(!run.gaps.is_empty(), "cut at {cut}");
    }
    fs::write(&path, [0xA5; 5000]).unwrap();
    assert!(Run::open(&directory).unwrap().gaps.iter().any(|gap| gap.code == "archive.bytes-damaged"));
    fs::write(directory.join("manifest.json"), "{").unwrap();
    assert!(Run::open(&directory).unwrap().gaps.iter().any(|gap| gap.code == "archive.manifest-unreadable"));
}

#[test]
fn foreign_and_missing_directories_are_named() {
    let root = tempfile::tempdir().unwrap();
    assert!(matches!(Run::open(root.path()), Err(OpenError::Foreign(_))));
    assert!(matches!(Run::open(root.path().join("no")), Err(OpenError::Missing(_))));
    fs::write(root.path().join("occupied"), "").unwrap();
    assert!(matches!(RunWriter::create(root.path(), manifest()), Err(WriteError::Exists(_))));
}

#[test]
fn a_file_whose_bytes_went_missing_is_counted() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(root.path().join("run"), manifest()).unwrap();
    writer.store(&Item::Message(Message::FileBegin { file: 1, kind: FileKind::SpikeTrace { spike: 1 } })).unwrap();
    writer.store(&Item::Chunk { file: 1, offset: 0, data: vec![1, 2] }).unwrap();
    writer.store(&Item::Message(Message::FileEnd { file: 1, bytes: 5 })).unwrap();
    writer.store(&Item::Chunk { file: 3, offset: 0, data: vec![1] }).unwrap();
    let run = Run::open(writer.finish(RunState::Complete, None, 2).unwrap()).unwrap();
    let lost: Vec<(u64, &str)> = run.losses.iter().map(|loss| (loss.count, loss.kind.as_str())).collect();
    assert_eq!(lost, [(3, "file bytes"), (1, "file bytes")]);
}

#[test]
fn whether_a_process_writes_an_archive_is_seen_and_one_without_a_rest_can_be_ended() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    let writer = RunWriter::create(&directory, manifest()).unwrap();
    let opened = || Run::open(&directory).unwrap();
    assert!(opened().goes_on && RunSummary::of(&opened(), &[]).goes_on);
    assert!(opened().gaps[0].code == "archive.goes-on", "{:?}", opened().gaps);
    drop(writer);
    assert!(!opened().goes_on && !RunSummary::of(&opened(), &[]).goes_on);
    assert!(opened().gaps[0].code == "archive.cut-off", "{:?}", opened().gaps);
    let again = RunWriter::begin_again(&directory).unwrap();
    assert!(opened().goes_on);
    drop(again);
    let text = "a reason";
    let nothing_left = Problem {
        code: Code::new("run.nothing-left"),
        severity: Severity::Invalid,
        text: text.into(),
        fix: String::new(),
    };
    give_up(&directory, nothing_left, 7).unwrap();
    let summary = RunSummary::of(&opened(), &[]);
    assert_eq!((summary.state, summary.valid), (RunState::Failed, false));
    assert!(summary.invalid_because.iter().any(|reason| reason.text == text), "{:?}", summary.invalid_because);
}
