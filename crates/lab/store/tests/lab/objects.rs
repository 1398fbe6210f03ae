//! Archives in an object store, whatever database the store uses.

use crate::promises::Lab;
use archive::reader::Run;
use fixtures::s3::{Fault, S3};
use std::fs;
use std::path::Path;
use std::time::Duration;
use store::{Ingested, Outcome, Retention, Store, StoreError};
use synthetic_run::SyntheticRun;

/// Longer than one part of an upload.
const TRACE_BYTES: usize = 20 << 20;

/// Writes a run outside of the directory, with a trace of this length.
fn write(lab: &Lab, name: &str, number: i64, trace_bytes: usize) -> std::path::PathBuf {
    let path = lab.outside(name);
    SyntheticRun { spikes: vec![(90_000, None)], ..SyntheticRun::of("pi", "6.1.0", number) }.write(&path);
    fs::create_dir_all(path.join("spikes/0001")).unwrap();
    fs::write(path.join("spikes/0001/trace.dat"), vec![7; trace_bytes]).unwrap();
    path
}

async fn ingest(store: &Store, path: &Path) -> Result<Ingested, StoreError> {
    store.ingest(path).await
}

fn whole(digest: &str) -> String {
    format!("tardy/archives/{}/{digest}.tar", &digest[..2])
}

/// Forgets every archive of this host: what another host sees.
fn empty(lab: &Lab) {
    fs::remove_dir_all(lab.inside("kept")).unwrap();
}

pub async fn an_acknowledged_archive_is_whole_in_the_object_store(mut lab: Lab) {
    let s3 = S3::start();
    lab.keep_in(&s3);
    let store = lab.open().await;
    let (small, large) = (write(&lab, "small", 1, 10), write(&lab, "large", 2, TRACE_BYTES));
    let first = ingest(&store, &small).await.unwrap();
    let second = ingest(&store, &large).await.unwrap();
    let objects = s3.objects();
    assert_eq!(objects.len(), 2);
    assert!(objects[&whole(&second.digest)] > TRACE_BYTES && objects[&whole(&first.digest)] < TRACE_BYTES);
    let before = s3.requests();
    assert_eq!(ingest(&store, &large).await.unwrap().outcome, Outcome::Known);
    assert_eq!((s3.requests() - before, s3.unfinished()), (1, 0), "what is there is not sent again");
    empty(&lab);
    for (digest, bytes) in [(&first.digest, 10), (&second.digest, TRACE_BYTES)] {
        assert!(store.acknowledged(digest).await.unwrap().is_some());
        let path = store.archive_of(digest).await.unwrap().unwrap();
        assert_eq!(fs::read(path.join("spikes/0001/trace.dat")).unwrap(), vec![7; bytes]);
        assert_eq!(Run::open(&path).unwrap().threads[&0].totals.cycles, 1001);
        assert_eq!(ingest(&store, &path).await.unwrap().outcome, Outcome::Known, "a fetched archive is no new one");
    }
    assert_eq!(store.runs(None, 10).await.unwrap().len(), 2);
}

pub async fn a_connection_that_breaks_leaves_nothing_half_visible(mut lab: Lab) {
    let s3 = S3::start();
    lab.keep_in(&s3);
    let store = lab.open().await;
    let path = write(&lab, "run", 1, TRACE_BYTES);
    // Every attempt of the client fails, and then the lab has neither object nor row.
    s3.fail(Fault::CutUpload, 1000);
    let error = ingest(&store, &path).await.unwrap_err();
    assert!(matches!(error, StoreError::Objects { .. }), "{error}");
    assert!(!error.to_string().contains("\"test\""), "no secret in {error}");
    assert!(s3.objects().is_empty() && store.runs(None, 10).await.unwrap().is_empty());
    s3.fail(Fault::CutUpload, 1);
    let added = ingest(&store, &path).await.unwrap();
    assert_eq!((added.outcome, s3.objects().len(), store.runs(None, 10).await.unwrap().len()), (Outcome::Added, 1, 1));
    empty(&lab);
    s3.fail(Fault::CutDownload, 1);
    let kept = store.archive_of(&added.digest).await.unwrap().unwrap();
    assert_eq!(fs::read(kept.join("spikes/0001/trace.dat")).unwrap().len(), TRACE_BYTES);
    empty(&lab);
    s3.fail(Fault::Busy, 2);
    assert!(Run::open(store.archive_of(&added.digest).await.unwrap().unwrap()).is_ok());
}

pub async fn an_object_that_was_changed_is_refused_and_replaced(mut lab: Lab) {
    let s3 = S3::start();
    lab.keep_in(&s3);
    let store = lab.open().await;
    let path = write(&lab, "run", 1, 1000);
    let added = ingest(&store, &path).await.unwrap();
    let original = s3.objects()[&whole(&added.digest)];
    empty(&lab);
    for change in [
        |bytes: &mut Vec<u8>| *bytes.iter_mut().rev().find(|byte| **byte == 7).unwrap() = 8,
        |bytes: &mut Vec<u8>| bytes.truncate(3000),
        |bytes: &mut Vec<u8>| bytes.resize(40 << 20, 0),
        |bytes: &mut Vec<u8>| bytes[0..10].copy_from_slice(b"../../etc/"),
    ] {
        let before = s3.objects().len();
        s3.change(&whole(&added.digest), change);
        let error = store.archive_of(&added.digest).await.unwrap_err();
        assert!(matches!(error, StoreError::Refused(_)), "{error}");
        assert_eq!((fs::read_dir(lab.inside(".receiving")).unwrap().count(), s3.objects().len()), (0, before));
        assert!(!lab.inside("kept").join(&added.digest[..2]).join(&added.digest).exists());
    }
    ingest(&store, &path).await.unwrap();
    assert_eq!(s3.objects()[&whole(&added.digest)], original, "a host that has the archive puts it back");
}

pub async fn removed_traces_and_pins_are_the_same_on_every_host(mut lab: Lab) {
    let s3 = S3::start();
    lab.keep_in(&s3);
    let store = lab.open().await;
    let paths = [write(&lab, "first", 1, 1000), write(&lab, "later", 2, 1000), write(&lab, "latest", 3, 1000)];
    for path in &paths {
        ingest(&store, path).await.unwrap();
    }
    let rules = Retention { everything_since_unix_ns: i64::MAX };
    let (prunable, _) = store.prunable(rules).await.unwrap();
    let [goes, stays] = <[_; 2]>::try_from(prunable).unwrap();
    empty(&lab);
    assert_eq!(store.pin(&stays.digest, "INC-7").await.unwrap(), Some(true));
    assert_eq!((store.prune(&stays).await.unwrap(), store.prune(&goes).await.unwrap().unwrap().files), (None, 1));
    let objects = s3.objects();
    assert!(!objects.contains_key(&whole(&goes.digest)) && objects.contains_key(&whole(&stays.digest)));
    // Another host, with another index: it learns everything from the object store.
    empty(&lab);
    lab.execute("DELETE FROM causes").await;
    lab.execute("DELETE FROM pins").await;
    lab.execute("DELETE FROM runs").await;
    lab.execute("DELETE FROM coverage").await;
    let rebuilt = store.rebuild(Vec::new(), &mut |_| {}).await.unwrap();
    assert_eq!((rebuilt.runs, rebuilt.left_out), (3, vec![]));
    assert_eq!(store.pins(&stays.digest).await.unwrap()[0].reason, "INC-7");
    let (prunable, _) = store.prunable(rules).await.unwrap();
    assert!(prunable.is_empty(), "one is pinned and one has no traces any more");
    let path = store.archive_of(&goes.digest).await.unwrap().unwrap();
    assert!(
        !path.join("spikes/0001/trace.dat").exists() && Run::open(&path).unwrap().threads[&0].totals.cycles == 1001
    );
    // The host that still has the traces does not bring them back.
    ingest(&store, &paths[1]).await.unwrap();
    assert!(!s3.objects().contains_key(&whole(&goes.digest)));
    assert!(store.health(&[], "").await.unwrap().findings.iter().all(|found| !found.finding.starts_with("objects")));
}

pub async fn a_pin_that_waits_for_the_object_store_keeps_traces_and_holds_nobody_up(mut lab: Lab) {
    let s3 = S3::start();
    lab.keep_in(&s3);
    let store = lab.open().await;
    for (name, number) in [("first", 1), ("later", 2)] {
        ingest(&store, &write(&lab, name, number, 1000)).await.unwrap();
    }
    let rules = Retention { everything_since_unix_ns: i64::MAX };
    let run = store.prunable(rules).await.unwrap().0.remove(0);
    s3.wait(true);
    let before = s3.requests();
    let (of, digest) = (store.clone(), run.digest.clone());
    let pinning = tokio::spawn(async move { of.pin(&digest, "INC-7").await });
    while s3.requests() == before {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // Other writers of the index do not wait for the object store.
    let writes = store.record_action("me", "look", "index", "");
    tokio::time::timeout(Duration::from_secs(20), writes).await.expect("the index is free").unwrap();
    let (of, same) = (store.clone(), run.clone());
    let pruning = tokio::spawn(async move { of.prune(&same).await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!pinning.is_finished() && !pruning.is_finished());
    s3.wait(false);
    assert_eq!(pinning.await.unwrap().unwrap(), Some(true));
    assert_eq!(pruning.await.unwrap().unwrap(), None, "the pin was first");
    assert!(s3.objects().contains_key(&whole(&run.digest)));
    let holds: (i64,) = sqlx::query_as("SELECT COUNT(*) FROM holds").fetch_one(&lab.pool().await).await.unwrap();
    assert_eq!(holds.0, 0);
}

pub async fn many_pins_at_once_are_all_kept(mut lab: Lab) {
    let s3 = S3::start();
    lab.keep_in(&s3);
    let store = lab.open().await;
    let added = ingest(&store, &write(&lab, "run", 1, 10)).await.unwrap();
    let pin = |number: usize| {
        let (store, digest) = (store.clone(), added.digest.clone());
        tokio::spawn(async move { store.pin(&digest, &format!("INC-{number}")).await })
    };
    let pinning: Vec<_> = (0..8).map(pin).collect();
    for pinned in pinning {
        assert_eq!(pinned.await.unwrap().unwrap(), Some(true));
    }
    assert_eq!(store.pins(&added.digest).await.unwrap().len(), 8);
    let rebuilt = store.rebuild(Vec::new(), &mut |_| {}).await.unwrap();
    assert_eq!((rebuilt.runs, store.pins(&added.digest).await.unwrap().len()), (1, 8), "beside the archive as well");
}

pub async fn archives_that_the_object_store_lost_are_found(mut lab: Lab) {
    let plain = lab.open().await;
    let path = write(&lab, "run", 1, 10);
    let added = ingest(&plain, &path).await.unwrap();
    let s3 = S3::start();
    lab.keep_in(&s3);
    let store = lab.open().await;
    let found = store.health(&[], "").await.unwrap().findings;
    assert!(found.iter().any(|found| found.finding == "objects-missing"), "{found:?}");
    // Adding it again puts it there: so a lab moves to an object store.
    assert_eq!(ingest(&store, &path).await.unwrap().outcome, Outcome::Known);
    assert!(s3.objects().contains_key(&whole(&added.digest)));
    assert_eq!(store.health(&[], "").await.unwrap().findings.len(), found.len() - 1);
}
