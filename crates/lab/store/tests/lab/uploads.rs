//! Archives from a stream that is not trusted, whatever database the store uses.

use crate::promises::Lab;
use archive::manifest::RunState;
use archive::packed::{PackedFile, PackedLimits, PackedWriter};
use archive::reader::Run;
use std::fs;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::time::{Duration, SystemTime};
use store::{Ingested, Outcome, PackedArchive, Refused, Retention, Store, StoreError};
use synthetic_run::SyntheticRun;

pub const LIMITS: PackedLimits = PackedLimits { files_max: 10, bytes_max: 1 << 20 };
const ARRIVING: &str = ".receiving";

/// A run outside of the store with a trace, and with files that are not sent. Returns its address and its stream.
fn sent(lab: &Lab, name: &str, run: &SyntheticRun) -> (String, Vec<u8>) {
    let path = lab.outside(name);
    run.write(&path);
    fs::create_dir_all(path.join("spikes/0001")).unwrap();
    fs::write(path.join("spikes/0001/trace.dat"), "trace".repeat(1000)).unwrap();
    fs::write(path.join("pins.json"), "{}").unwrap();
    fs::write(path.join("report.html"), "page").unwrap();
    let packed = PackedArchive::of(&path).unwrap();
    let mut stream = Vec::new();
    packed.write(&mut stream).unwrap();
    assert_eq!(packed.bytes(), stream.len() as u64);
    (packed.digest(), stream)
}

async fn receive(store: &Store, digest: &str, source: impl Read + Send + 'static) -> Result<Ingested, StoreError> {
    store.receive(digest, source, LIMITS).await
}

/// A stream that nothing may read.
struct NotRead;

impl Read for NotRead {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        panic!("the store has this archive");
    }
}

/// Entries of the folder of what is arriving.
fn arriving(lab: &Lab) -> usize {
    fs::read_dir(lab.inside(ARRIVING)).map_or(0, Iterator::count)
}

pub async fn an_archive_from_a_stream_is_there_once_with_its_recorded_files(lab: Lab) {
    let store = lab.open().await;
    let run = SyntheticRun { spikes: vec![(90_000, None)], ..SyntheticRun::of("pi", "6.1.0", 1) };
    let (digest, stream) = sent(&lab, "run", &run);
    assert_eq!(store.acknowledged(&digest).await.unwrap(), None);
    let first = receive(&store, &digest, Cursor::new(stream)).await.unwrap();
    assert_eq!((first.outcome, &first.digest), (Outcome::Added, &digest));
    let kept = store.archive_of(&digest).await.unwrap().unwrap();
    assert_eq!(fs::read(kept.join("spikes/0001/trace.dat")).unwrap(), "trace".repeat(1000).as_bytes());
    assert_eq!(Run::open(&kept).unwrap().threads[&0].totals.cycles, 1001);
    for name in ["pins.json", "report.html", "explanations.json"] {
        assert!(!kept.join(name).exists(), "{name}: its address says nothing about it");
    }
    assert_eq!(receive(&store, &digest, NotRead).await.unwrap().outcome, Outcome::Known);
    assert_eq!(store.ingest(&lab.outside("run")).await.unwrap().outcome, Outcome::Known);
    assert_eq!((store.runs(None, 10).await.unwrap().len(), arriving(&lab)), (1, 0));
    // Without its traces it is still the archive of that address, and no longer what can be sent.
    let (lower, stream) = sent(&lab, "lower", &SyntheticRun::of("pi", "6.1.0", 2));
    receive(&store, &lower, Cursor::new(stream)).await.unwrap();
    let (prunable, _) = store.prunable(Retention { everything_since_unix_ns: i64::MAX }).await.unwrap();
    assert_eq!(prunable.iter().map(|run| &run.digest).collect::<Vec<_>>(), [&lower]);
    assert_eq!(store.prune(&prunable[0]).await.unwrap().unwrap().files, 1);
    assert_eq!(receive(&store, &lower, NotRead).await.unwrap().outcome, Outcome::Known);
    let path = store.archive_of(&lower).await.unwrap().unwrap();
    assert!(matches!(PackedArchive::of(&path), Err(StoreError::Refused(Refused::Pruned))));
}

pub async fn an_upload_with_another_digest_is_refused_and_leaves_nothing(lab: Lab) {
    let store = lab.open().await;
    let (digest, stream) = sent(&lab, "run", &SyntheticRun::of("pi", "6.1.0", 1));
    let (other, _) = sent(&lab, "other", &SyntheticRun::of("pi", "6.1.0", 2));
    let refused = async |digest: &str, stream: Vec<u8>| match receive(&store, digest, Cursor::new(stream)).await {
        Err(StoreError::Refused(refused)) => refused,
        other => panic!("{other:?}"),
    };
    assert!(matches!(refused(&other, stream.clone()).await, Refused::OtherContents { found } if found == digest));
    for address in ["", "..", "../../x", &digest[1..], &digest.to_uppercase(), &format!("{digest}0")] {
        assert!(matches!(refused(address, stream.clone()).await, Refused::Address(_)), "{address}");
    }
    for length in [0, 1, 511, 512, 600, stream.len() / 2, stream.len() - 1024, stream.len() - 1] {
        assert!(matches!(refused(&digest, stream[..length].to_vec()).await, Refused::Stream(_)), "{length}");
    }
    // Files that a store writes itself, and files outside of the archive.
    for name in
        ["contents.json", "pins.json", "explanations.json", "tokens", "spikes/x", "samples/0.partial", "a/b/c/d"]
    {
        let mut writer = PackedWriter::new(Vec::new());
        writer.file(&PackedFile { name: name.into(), bytes: 1 }, b"x".as_slice()).unwrap();
        let found = refused(&digest, writer.end().unwrap()).await;
        assert!(matches!(&found, Refused::NotRecorded(of) if of == name), "{name}: {found:?}");
    }
    let changed = |at: usize, with: &[u8]| {
        let mut stream = stream.clone();
        stream[at..at + with.len()].copy_from_slice(with);
        stream[148..156].fill(b' ');
        let sum: u32 = stream[..512].iter().map(|byte| u32::from(*byte)).sum();
        stream[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        stream
    };
    for (at, with) in
        [(0, "../escaped"), (0, "/tmp/escaped"), (156, "2"), (156, "3"), (157, "/etc"), (124, "77777777777")]
    {
        assert!(matches!(refused(&digest, changed(at, with.as_bytes())).await, Refused::Stream(_)), "{at} {with}");
    }
    let trace = stream.windows(10).position(|bytes| bytes == b"tracetrace").unwrap();
    assert!(matches!(refused(&digest, changed(trace, b"x")).await, Refused::OtherContents { .. }));
    assert!(matches!(refused(&digest, changed(512, b"x")).await, Refused::Unreadable), "the manifest comes first");
    assert_eq!((store.runs(None, 10).await.unwrap().len(), arriving(&lab)), (0, 0));
    assert!(!lab.inside("kept").exists() && !lab.inside("escaped").exists());
    receive(&store, &digest, Cursor::new(stream)).await.unwrap();
}

pub async fn a_run_that_has_not_ended_is_neither_sent_nor_taken(lab: Lab) {
    let store = lab.open().await;
    SyntheticRun { state: RunState::Running, ..SyntheticRun::of("pi", "6.1.0", 1) }.write(&lab.outside("run"));
    SyntheticRun::of("pi", "6.1.0", 2).write(&lab.outside("spoilt"));
    fs::write(lab.outside("spoilt").join("manifest.json"), "{").unwrap();
    for (name, goes_on) in [("run", true), ("spoilt", false)] {
        let of = |error| matches!(error, StoreError::Refused(Refused::GoesOn)) == goes_on;
        assert!(of(PackedArchive::of(&lab.outside(name)).unwrap_err()), "{name}");
        let (digest, stream) = packed_as_it_is(&lab.outside(name));
        assert!(of(receive(&store, &digest, Cursor::new(stream)).await.unwrap_err()), "{name}");
    }
    assert_eq!((store.runs(None, 10).await.unwrap().len(), arriving(&lab)), (0, 0));
}

/// The stream of an archive in any state, and the address of what is in it.
fn packed_as_it_is(path: &Path) -> (String, Vec<u8>) {
    use sha2::{Digest, Sha256};
    let hex = |bytes: &[u8]| Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut writer = PackedWriter::new(Vec::new());
    let mut listed = String::new();
    for name in ["manifest.json", "stream.tardy"] {
        let bytes = fs::read(path.join(name)).unwrap();
        listed += &format!("{} {} {name}\n", hex(&bytes), bytes.len());
        writer.file(&PackedFile { name: name.into(), bytes: bytes.len() as u64 }, bytes.as_slice()).unwrap();
    }
    (hex(listed.as_bytes()), writer.end().unwrap())
}

pub async fn received_at_once_by_many_it_is_there_once(lab: Lab) {
    let runs: Vec<(String, Vec<u8>)> =
        (0..4).map(|number| sent(&lab, &format!("run{number}"), &SyntheticRun::of("pi", "6.1.0", number))).collect();
    let (first, second) = (lab.open().await, lab.open().await);
    let mut tasks = Vec::new();
    for round in 0..4 {
        for (digest, stream) in runs.clone() {
            let store = if round % 2 == 0 { first.clone() } else { second.clone() };
            tasks.push(tokio::spawn(
                async move { receive(&store, &digest, Cursor::new(stream)).await.unwrap().outcome },
            ));
        }
    }
    let mut added = 0;
    for task in tasks {
        added += usize::from(task.await.unwrap() == Outcome::Added);
    }
    // Two that arrive between the archive and its row may both add it.
    assert!(added >= 4);
    assert_eq!((first.runs(None, 100).await.unwrap().len(), arriving(&lab)), (4, 0));
    assert_eq!(first.fleet().await.unwrap().rows[0].coverage.samples, 4000);
}

pub async fn an_upload_cut_by_a_crash_is_completed_or_removed(lab: Lab) {
    let store = lab.open().await;
    let (digest, stream) = sent(&lab, "run", &SyntheticRun::of("pi", "6.1.0", 1));
    // A connection that breaks.
    let broken = Cursor::new(stream[..700].to_vec()).chain(Broken);
    let ended = receive(&store, &digest, broken).await;
    assert!(matches!(ended, Err(StoreError::Refused(Refused::Stream(_)))) && arriving(&lab) == 0);
    // A crash after the archive was in its place, and before its row was: it is not sent again.
    receive(&store, &digest, Cursor::new(stream.clone())).await.unwrap();
    store.rebuild(Vec::new(), &mut |_| {}).await.unwrap();
    assert_eq!(store.acknowledged(&digest).await.unwrap(), None);
    assert_eq!(receive(&store, &digest, NotRead).await.unwrap().outcome, Outcome::Added);
    // Crashes while it arrived, one of them more than a day ago.
    for (name, age) in [("old", 25), ("new", 23)] {
        let path = lab.inside(ARRIVING).join(name);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("manifest.json"), "{").unwrap();
        let then = SystemTime::now() - Duration::from_secs(age * 3600);
        fs::File::open(&path).unwrap().set_modified(then).unwrap();
    }
    let (other, stream) = sent(&lab, "other", &SyntheticRun::of("pi", "6.1.0", 2));
    receive(&store, &other, Cursor::new(stream)).await.unwrap();
    assert!(!lab.inside(ARRIVING).join("old").exists() && lab.inside(ARRIVING).join("new").exists());
}

/// The end of a connection that breaks.
struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::ConnectionReset.into())
    }
}

pub async fn a_received_archive_that_was_damaged_is_taken_again(lab: Lab) {
    let store = lab.open().await;
    let (digest, stream) = sent(&lab, "run", &SyntheticRun::of("pi", "6.1.0", 1));
    receive(&store, &digest, Cursor::new(stream.clone())).await.unwrap();
    let kept = store.archive_of(&digest).await.unwrap().unwrap();
    fs::remove_file(kept.join("manifest.json")).unwrap();
    fs::remove_file(kept.join("stream.tardy")).unwrap();
    assert_eq!(receive(&store, &digest, Cursor::new(stream)).await.unwrap().outcome, Outcome::Known);
    assert_eq!(PackedArchive::of(&kept).unwrap().digest(), digest);
    assert_eq!((store.runs(None, 10).await.unwrap().len(), arriving(&lab)), (1, 0));
}
