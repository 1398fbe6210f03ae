//! Limits of a target on the files of an archive, and the state on disk once it is marked complete.

use super::*;
use crate::sample::Second;
use crate::settings::RunSettings;
use std::os::unix::fs::MetadataExt;

fn manifest() -> Manifest {
    serde_json::from_str(
        r#"{"archive_version":1,"id":"x","tool_version":"0","command":[],"target":"local","started_unix_ns":1,
            "state":"running","settings":null}"#,
    )
    .unwrap()
}

const KIND: FileKind = FileKind::SpikeTrace { spike: 1 };
const NAME: &str = "spikes/0001/trace.dat";

fn writer(folder: &Path) -> RunWriter {
    let mut writer = RunWriter::create(folder.join("run"), manifest()).unwrap();
    writer.store(&Item::Message(Message::FileBegin { file: 1, kind: KIND })).unwrap();
    writer
}

fn chunk(offset: u64, data: &[u8]) -> Item {
    Item::Chunk { file: 1, offset, data: data.to_vec() }
}

fn end(bytes: u64) -> Item {
    Item::Message(Message::FileEnd { file: 1, bytes })
}

fn losses(folder: &Path) -> Vec<(LossKind, u64)> {
    let run = crate::reader::Run::open(folder.join("run")).unwrap();
    run.losses.into_iter().map(|loss| (loss.kind, loss.count)).collect()
}

#[test]
fn an_offset_that_no_file_has_is_a_loss_and_makes_no_file_large() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path());
    for offset in [1 << 62, u64::MAX - 1, TRACE_BYTES_MAX, 1 << 30] {
        writer.store(&chunk(offset, b"far")).unwrap();
    }
    writer.store(&chunk(0, b"near")).unwrap();
    writer.store(&end(4)).unwrap();
    writer.finish(RunState::Complete, None, 2).unwrap();
    assert_eq!(
        losses(folder.path()),
        [(LossKind::FileBytes, 3), (LossKind::FileBytes, 3), (LossKind::FileBytes, 3), (LossKind::FileBytes, 3)]
    );
    assert_eq!(fs::metadata(folder.path().join("run").join(NAME)).unwrap().size(), 4);
}

#[test]
fn a_stretch_that_came_twice_hides_no_loss() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path());
    for offset in [0, 2, 0, 8] {
        writer.store(&chunk(offset, b"1234")).unwrap();
    }
    // Bytes 6 and 7 never came, although 16 bytes did.
    writer.store(&end(12)).unwrap();
    writer.finish(RunState::Complete, None, 2).unwrap();
    assert_eq!(losses(folder.path()), [(LossKind::FileBytes, 2)]);
}

#[test]
fn files_that_are_held_are_written_afterwards_and_dropped_ones_never() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(folder.path().join("run"), manifest()).unwrap();
    writer.hold_files(true).unwrap();
    for (file, spike) in [(1, 1), (2, 2), (3, 3)] {
        let kind = FileKind::SpikeTrace { spike };
        writer.store(&Item::Message(Message::FileBegin { file, kind })).unwrap();
        writer.store(&Item::Chunk { file, offset: 0, data: vec![file as u8; 4] }).unwrap();
        if file < 3 {
            writer.store(&Item::Message(Message::FileEnd { file, bytes: 4 })).unwrap();
        }
    }
    writer.store(&Item::Message(Message::SpikeDropped { number: 1, why: String::new() })).unwrap();
    assert!(!folder.path().join("run/spikes").exists());
    writer.hold_files(false).unwrap();
    // The rest of a file comes after the measurement.
    writer.store(&Item::Chunk { file: 3, offset: 4, data: vec![3; 2] }).unwrap();
    writer.store(&Item::Message(Message::FileEnd { file: 3, bytes: 6 })).unwrap();
    let trace = |spike: u32| fs::read(folder.path().join(format!("run/spikes/{spike:04}/trace.dat"))).ok();
    assert_eq!([1, 2, 3].map(trace), [None, Some(vec![2; 4]), Some(vec![3; 6])]);
    writer.finish(RunState::Complete, None, 2).unwrap();
    assert_eq!(losses(folder.path()), []);
}

#[test]
fn an_archive_that_ends_while_files_are_held_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(folder.path().join("run"), manifest()).unwrap();
    writer.hold_files(true).unwrap();
    writer.store(&Item::Message(Message::FileBegin { file: 1, kind: KIND })).unwrap();
    writer.store(&chunk(0, b"1234")).unwrap();
    writer.store(&end(4)).unwrap();
    writer.finish(RunState::Failed, None, 2).unwrap();
    assert_eq!(fs::read(folder.path().join("run").join(NAME)).unwrap(), b"1234");
}

#[test]
fn stretches_grow_together_whatever_their_order() {
    let mut stretches = Stretches::default();
    for (start, end) in [(10, 20), (30, 40), (0, 5), (20, 30), (4, 11), (7, 7)] {
        stretches.add(start, end);
    }
    assert_eq!((stretches.ends.len(), stretches.bytes(), stretches.end()), (1, 40, 40));
}

#[test]
fn a_run_is_not_complete_unless_each_of_its_files_is_on_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path());
    writer.store(&chunk(0, b"1234")).unwrap();
    writer.store(&end(4)).unwrap();
    fs::remove_file(folder.path().join("run").join(NAME)).unwrap();
    let error = writer.finish(RunState::Complete, None, 2).unwrap_err();
    assert!(error.to_string().contains(NAME), "{error}");
    let run = crate::reader::Run::open(folder.path().join("run")).unwrap();
    assert_eq!(run.manifest.unwrap().state, RunState::Running);
}

#[test]
fn an_archive_that_is_written_again_is_written_inside_of_its_directory() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let directory = folder.path().join("run");
    drop(writer(folder.path()));
    fs::remove_dir_all(directory.join("spikes")).unwrap();
    fs::write(outside.path().join("victim"), "precious").unwrap();
    std::os::unix::fs::symlink(outside.path(), directory.join("spikes")).unwrap();
    for name in ["stream.tardy.partial", "manifest.json.partial", "explanations.json"] {
        std::os::unix::fs::symlink(outside.path().join("victim"), directory.join(name)).unwrap();
    }
    let mut writer = RunWriter::begin_again(&directory).unwrap();
    writer.store(&Item::Message(Message::FileBegin { file: 1, kind: KIND })).unwrap();
    writer.store(&chunk(0, b"1234")).unwrap();
    writer.store(&end(4)).unwrap();
    writer.finish(RunState::Complete, None, 2).unwrap();
    assert_eq!(fs::read_to_string(outside.path().join("victim")).unwrap(), "precious");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    assert_eq!(fs::read(directory.join(NAME)).unwrap(), b"1234");
}

#[test]
fn a_defect_of_the_program_that_writes_closes_the_archive_as_failed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let panicked = std::thread::spawn(move || {
        let mut writer = writer(&path);
        writer.store(&chunk(0, b"1234")).unwrap();
        panic!("of the test");
    });
    assert!(panicked.join().is_err());
    let run = crate::reader::Run::open(folder.path().join("run")).unwrap();
    let summary = crate::summary::RunSummary::of(&run, &[]);
    assert_eq!((summary.state, summary.valid), (RunState::Failed, false));
    assert!(summary.invalid_because.iter().any(|reason| reason.code == "archive.writer-defect"), "{summary:?}");
}

#[test]
fn of_several_writers_of_one_directory_one_gets_it() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("run");
    let start = std::sync::Barrier::new(8);
    let results: Vec<Result<RunWriter, WriteError>> = thread::scope(|scope| {
        let writers: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    RunWriter::create(&place, manifest())
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    assert!(results.iter().all(|result| matches!(result, Ok(_) | Err(WriteError::Exists(_)))));
    assert!(crate::reader::Run::open(&place).unwrap().manifest.is_some());
}

#[test]
fn the_seconds_of_a_long_run_are_packed_and_a_short_one_lists_them() {
    let seconds =
        |from: u32| Message::Seconds((from..from + 7).map(|second| Second { second, ..Second::default() }).collect());
    let written = |duration_ns: Option<u64>| {
        let folder = tempfile::tempdir().unwrap();
        let settings = RunSettings { duration_ns, ..RunSettings::default() };
        let manifest = Manifest { settings: Some(settings), ..manifest() };
        let mut writer = RunWriter::create(folder.path().join("run"), manifest).unwrap();
        for from in (0..1001).step_by(7) {
            writer.store(&Item::Message(seconds(from))).unwrap();
        }
        writer.finish(RunState::Complete, None, 2).unwrap();
        let run = crate::reader::Run::open(folder.path().join("run")).unwrap();
        let bytes = fs::metadata(folder.path().join("run").join(STREAM)).unwrap().size();
        (run.threads[&0].seconds.iter().map(|second| second.second).collect::<Vec<u32>>(), bytes)
    };
    let (long, packed_bytes) = written(None);
    let (short, bytes) = written(Some(60_000_000_000));
    assert!(long.iter().copied().eq(0..1001) && long == short);
    assert!(packed_bytes * 8 < bytes, "{packed_bytes} of {bytes}");
}
