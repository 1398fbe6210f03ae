//! A writer that is killed, gets errors or loses power at any of its system calls: an archive that was acknowledged as
//! complete is complete, and every other one opens.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use archive::frame::Item;
use archive::histogram::Histogram;
use archive::manifest::{Manifest, RunState};
use archive::message::{Ending, FileKind, Message, RunPhase};
use archive::problem::{Code, Problem, Severity};
use archive::reader::{OpenError, Run};
use archive::sample::Totals;
use archive::summary::RunSummary;
use archive::write_error::WriteError;
use archive::writer::RunWriter;
use prerequisites::Prerequisite::{Prepared, Program, Root};
use prerequisites::met;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use syscall_faults::image::{Image, Journal};
use syscall_faults::power_cut::{Disk, Seed, Unsynced};
use syscall_faults::{ACKNOWLEDGEMENTS, Ended, Fault, Operation, record, run};

/// Directory of the writer; the archive is below it.
const PLACE: &str = "TARDY_INTERRUPTED_PLACE";
/// File that the writer creates after the archive is complete.
const ACKNOWLEDGED: &str = "TARDY_INTERRUPTED_ACKNOWLEDGED";
const ARCHIVE: &str = "runs/today/run";
const NOTES: &str = "notes.json";
/// From errno(3).
const EIO: i32 = 5;
const ENOSPC: i32 = 28;

fn manifest() -> Manifest {
    let text = r#"{"archive_version":1,"id":"x","tool_version":"0","command":[],"target":"local","started_unix_ns":1,
        "state":"running","settings":null}"#;
    serde_json::from_str(text).unwrap()
}

fn items() -> Vec<Item> {
    let trace = FileKind::SpikeTrace { spike: 1 };
    let dropped = FileKind::SpikeTrace { spike: 2 };
    let chunk = |file, offset, letter: u8, bytes| Item::Chunk { file, offset, data: vec![letter; bytes] };
    let totals = Totals { cycles: 2, latency_ns_min: Some(5), latency_ns_max: Some(7), ..Totals::default() };
    let messages = [
        vec![
            Item::Message(Message::Phase { phase: RunPhase::Measure, monotonic_ns: 10 }),
            Item::Message(Message::FileBegin { file: 1, kind: trace }),
            chunk(1, 0, b'a', 5000),
            Item::Message(Message::FileBegin { file: 2, kind: FileKind::Samples { thread: 0 } }),
            chunk(2, 0, b'b', 3000),
            chunk(1, 5000, b'c', 5000),
            Item::Message(Message::FileEnd { file: 1, bytes: 10_000 }),
            Item::Message(Message::FileBegin { file: 3, kind: dropped }),
            chunk(3, 0, b'd', 100),
            Item::Message(Message::FileEnd { file: 3, bytes: 100 }),
            Item::Message(Message::SpikeDropped { number: 2, why: "smaller".into() }),
            chunk(2, 3000, b'e', 3000),
            Item::Message(Message::FileEnd { file: 2, bytes: 6000 }),
        ],
        vec![
            Item::Message(Message::Thread {
                thread: 0,
                cpu: 1,
                totals,
                histogram: Histogram { buckets: vec![(5, 1), (7, 1)] },
                worst: Vec::new(),
            }),
            Item::Message(Message::Phase { phase: RunPhase::Collect, monotonic_ns: 30 }),
            Item::Message(Message::End { ending: Ending::Complete, monotonic_ns: 40 }),
        ],
    ];
    messages.concat()
}

/// Writes a whole archive like a run, and then acknowledges it in a file.
fn write(place: &Path) -> Result<(), WriteError> {
    let mut writer = RunWriter::create(place.join(ARCHIVE), manifest())?;
    let mut stored = Ok(());
    for item in items() {
        if stored.is_ok() {
            stored = writer.store(&item);
            if stored.is_err() {
                writer.release_reserve();
            }
        } else if matches!(item, Item::Message(Message::Thread { .. } | Message::End { .. })) {
            let _ = writer.store(&item);
        }
    }
    let stored = stored.and_then(|()| writer.put(NOTES, b"[]"));
    let failed = stored.as_ref().err().map(|error| Problem {
        code: Code::new("run.archive-not-written"),
        severity: Severity::Invalid,
        text: error.to_string(),
        fix: String::new(),
    });
    let state = if failed.is_none() { RunState::Complete } else { RunState::Failed };
    writer.finish(state, failed, 2)?;
    stored
}

/// The program that the other tests interrupt.
#[test]
#[ignore = "the other tests of this file start it"]
fn the_writer() {
    let Some(place) = std::env::var_os(PLACE).map(PathBuf::from) else { return };
    if write(&place).is_ok() {
        let acknowledged = std::env::var_os(ACKNOWLEDGED).map_or_else(|| place.join(ACKNOWLEDGEMENTS), PathBuf::from);
        let _ = fs::write(acknowledged, "complete");
    }
}

fn writer(place: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "the_writer", "--ignored", "--test-threads=1"]);
    command.env(PLACE, place).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Every file of an archive with its bytes.
fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn below(directory: &Path, base: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(directory).into_iter().flatten().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => below(&entry.path(), base, found),
                false => {
                    let name = entry.path().strip_prefix(base).unwrap().to_owned();
                    found.insert(name, fs::read(entry.path()).unwrap());
                }
            }
        }
    }
    let mut found = BTreeMap::new();
    below(directory, directory, &mut found);
    found
}

/// The result of an uninterrupted writer.
fn whole() -> (Ended, BTreeMap<PathBuf, Vec<u8>>) {
    let place = tempfile::tempdir().unwrap();
    let ended = run(&mut writer(place.path()), None).unwrap();
    assert_eq!(ended.code, Some(0));
    assert!(place.path().join(ACKNOWLEDGEMENTS).exists());
    let contents = contents(&place.path().join(ARCHIVE));
    let names: Vec<&str> = contents.keys().map(|name| name.to_str().unwrap()).collect();
    assert_eq!(names, ["manifest.json", NOTES, "samples/0.bin", "spikes/0001/trace.dat", "stream.tardy"]);
    (ended, contents)
}

/// An archive whose state is complete, or that was acknowledged, has every byte of it; any other opens or does not
/// exist yet.
fn check(place: &Path, acknowledged: bool, whole: &BTreeMap<PathBuf, Vec<u8>>, when: &str) {
    let directory = place.join(ARCHIVE);
    match Run::open(&directory) {
        Ok(run) => {
            RunSummary::of(&run, &[]);
            let complete = run.manifest.as_ref().is_some_and(|manifest| manifest.state == RunState::Complete);
            assert!(complete || !acknowledged, "{when}: acknowledged and not complete");
            if complete {
                let found = contents(&directory);
                for (name, bytes) in whole {
                    assert!(found.get(name) == Some(bytes), "{when}: {} of a complete run", name.display());
                }
            }
        }
        Err(OpenError::Missing(_) | OpenError::Foreign(_)) => {
            assert!(!acknowledged, "{when}: acknowledged and not there");
        }
        Err(error) => panic!("{when}: {error}"),
    }
}

#[test]
fn a_writer_killed_at_any_system_call_leaves_an_archive_that_is_complete_or_says_that_it_is_not() {
    let (ended, whole) = whole();
    for at in 0..ended.calls {
        let place = tempfile::tempdir().unwrap();
        let killed = run(&mut writer(place.path()), Some((at, Fault::Kill))).unwrap();
        let when = format!("killed at call {at}, {}", killed.met.unwrap());
        check(place.path(), place.path().join(ACKNOWLEDGEMENTS).exists(), &whole, &when);
        // A later process can write the same archive, or is refused.
        if let Err(error) = write(place.path()) {
            assert!(matches!(error, WriteError::Exists(_)), "{when}: {error}");
        }
    }
    println!("killed at {} system calls: none lost", ended.calls);
    assert!(ended.calls > 40, "{}", ended.calls);
}

#[test]
fn a_writer_that_is_refused_at_any_system_call_acknowledges_only_what_is_whole() {
    let (ended, whole) = whole();
    for at in 0..ended.calls {
        for fault in [Fault::Refuse(EIO), Fault::CutShort(ENOSPC), Fault::Full(ENOSPC)] {
            let place = tempfile::tempdir().unwrap();
            let refused = run(&mut writer(place.path()), Some((at, fault))).unwrap();
            let when = format!("{fault:?} at call {at}, {}", refused.met.unwrap());
            assert_eq!(refused.code, Some(0), "{when}");
            check(place.path(), place.path().join(ACKNOWLEDGEMENTS).exists(), &whole, &when);
        }
    }
    println!("refused at {} system calls in three ways: none lost", ended.calls);
}

#[test]
fn a_power_cut_after_any_system_call_leaves_what_was_acknowledged() {
    let (_, whole) = whole();
    let place = tempfile::tempdir().unwrap();
    let (ended, recorded) = record(&mut writer(place.path())).unwrap();
    assert_eq!(ended.code, Some(0));
    let acknowledges = |operation: &Operation| matches!(operation, Operation::Acknowledge { .. });
    assert!(recorded.operations.iter().any(acknowledges));
    let mut seed = Seed(0x9e37_79b9_7f4a_7c15);
    let mut tried = 0;
    for operations in 0..=recorded.operations.len() {
        let acknowledged = recorded.operations[..operations].iter().any(acknowledges);
        let parts = std::iter::repeat_n([Unsynced::Some, Unsynced::Torn], 8).flatten();
        for unsynced in [Unsynced::None, Unsynced::All, Unsynced::Zeros].into_iter().chain(parts) {
            let left = tempfile::tempdir().unwrap();
            Disk::after(&recorded, operations, unsynced, &mut seed).lay_out(place.path(), left.path()).unwrap();
            let when = format!("power cut after {operations} operations, of what was not synced: {unsynced:?}");
            check(left.path(), acknowledged, &whole, &when);
            tried += 1;
        }
    }
    println!("{tried} states after {} power cuts: none lost", recorded.operations.len() + 1);
}

#[test]
fn a_power_cut_of_an_ext4_at_any_system_call_leaves_what_was_acknowledged() {
    let loops = Path::new("/dev/loop-control").exists();
    if !met(&[Root, Program("mkfs.ext4"), Prepared("loop devices (modprobe loop)", loops)]) {
        return;
    }
    let (_, whole) = whole();
    let (mut tried, mut acknowledged) = (0, 0);
    for (options, journal) in [("data=ordered", Journal::Lost), ("data=writeback", Journal::Written)] {
        let folder = tempfile::tempdir().unwrap();
        let image = Image::ext4(folder.path(), 64, options).unwrap();
        for at in 0.. {
            // Its name must be on the disk before the writer starts.
            let place = image.path().join("place");
            fs::create_dir(&place).unwrap();
            fs::File::open(image.path()).unwrap().sync_all().unwrap();
            let outside = folder.path().join(ACKNOWLEDGEMENTS);
            let ended = run(writer(&place).env(ACKNOWLEDGED, &outside), Some((at, Fault::Kill))).unwrap();
            image.cut_power(journal).unwrap();
            let when =
                format!("power cut at call {at}, {:?}, of an ext4 with {options}, journal {journal:?}", ended.met);
            check(&place, outside.exists(), &whole, &when);
            fs::remove_dir_all(&place).unwrap();
            tried += 1;
            acknowledged += u32::from(outside.exists());
            let _ = fs::remove_file(outside);
            if ended.met.is_none() {
                break;
            }
        }
    }
    println!("{tried} power cuts of an ext4, {acknowledged} of them of a complete archive: none lost");
    assert!(acknowledged >= 2, "each file system has one whole writer");
}
