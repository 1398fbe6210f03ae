//! Retention, whatever database it uses.

use crate::promises::Lab;
use std::collections::BTreeMap;
use std::fs;
use store::{KeptBecause, Outcome, Retention, Store};
use synthetic_run::SyntheticRun;

const DAY_NS: i64 = 86_400_000_000_000;
const RULES: Retention = Retention { everything_since_unix_ns: 100 * DAY_NS };

/// A run with a trace, a file of samples, and something that is no part of an archive.
async fn add(lab: &Lab, store: &Store, name: &str, run: &SyntheticRun) -> String {
    run.write(&lab.inside(name));
    for file in ["spikes/0001/trace.dat", "samples/0.bin", "notes/mine.txt"] {
        let path = lab.inside(name).join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x".repeat(1000)).unwrap();
    }
    store.ingest(&lab.inside(name)).await.unwrap().digest
}

async fn names(store: &Store) -> (Vec<String>, BTreeMap<KeptBecause, u64>) {
    let (prunable, kept) = store.prunable(RULES).await.unwrap();
    (prunable.into_iter().map(|run| run.digest).collect(), kept)
}

pub async fn traces_go_except_of_maxima_failures_recent_and_pinned_runs(lab: Lab) {
    let store = lab.open().await;
    let of = |day: i64, max_ns: i64| SyntheticRun {
        latencies: [3_000, max_ns].into_iter().collect(),
        limit_ns: Some(100_000),
        ..SyntheticRun::of("pi", "6.1.0", day * DAY_NS)
    };
    let first = add(&lab, &store, "first", &of(0, 50_000)).await;
    let lower = add(&lab, &store, "lower", &of(1, 40_000)).await;
    let cited = add(&lab, &store, "cited", &of(2, 40_000)).await;
    let higher = add(&lab, &store, "higher", &of(3, 60_000)).await;
    let failed = add(&lab, &store, "failed", &of(4, 200_000)).await;
    let after = add(&lab, &store, "after", &of(5, 70_000)).await;
    add(&lab, &store, "recent", &of(200, 10_000)).await;
    assert_eq!(store.pin(&cited, "incident 7").await.unwrap(), Some(true));
    assert_eq!(store.pin("no such run", "x").await.unwrap(), None);
    let (prunable, kept) = names(&store).await;
    assert_eq!(prunable, [lower.clone(), after.clone()]);
    let counts =
        [(KeptBecause::Recent, 1), (KeptBecause::Pinned, 1), (KeptBecause::Failure, 1), (KeptBecause::NewMaximum, 2)];
    assert_eq!(kept, BTreeMap::from(counts));
    let (list, _) = store.prunable(RULES).await.unwrap();
    let pruned = store.prune(&list[0]).await.unwrap().unwrap();
    assert_eq!((pruned.files, pruned.bytes), (2, 2000));
    assert!(!lab.inside("lower").join("spikes/0001/trace.dat").exists());
    assert!(lab.inside("lower").join("notes/mine.txt").exists() && lab.inside("lower").join("stream.tardy").exists());
    for (name, digest) in [("first", first), ("cited", cited.clone()), ("higher", higher), ("failed", failed)] {
        assert!(lab.inside(name).join("spikes/0001/trace.dat").exists(), "{name}");
        assert_eq!(store.run(&digest).await.unwrap().unwrap().run.pruned_unix_ns, None);
    }
    // Its figures, and its address, are still there, for a new index as well.
    let before = store.run(&lower).await.unwrap().unwrap();
    assert!(before.run.pruned_unix_ns.is_some());
    assert_eq!(store.ingest(&lab.inside("lower")).await.unwrap().outcome, Outcome::Known);
    let paths = ["lower", "cited"].map(|name| lab.inside(name)).to_vec();
    let rebuilt = store.rebuild(paths, &mut |_| {}).await.unwrap();
    assert_eq!((rebuilt.runs, rebuilt.removed), (2, 5));
    let again = store.run(&lower).await.unwrap().unwrap();
    assert_eq!((again.run.pruned_unix_ns, again.run.latency_ns), (before.run.pruned_unix_ns, before.run.latency_ns));
    assert_eq!(store.pins(&cited).await.unwrap()[0].reason, "incident 7");
}

pub async fn a_run_pinned_after_the_list_was_made_stays(lab: Lab) {
    let store = lab.open().await;
    for (name, day) in [("a", 0), ("b", 1)] {
        add(&lab, &store, name, &SyntheticRun::of("pi", "6.1.0", day * DAY_NS)).await;
    }
    let (list, _) = store.prunable(RULES).await.unwrap();
    let digest = list[0].digest.clone();
    store.pin(&digest, "mine").await.unwrap();
    assert_eq!(store.prune(&list[0]).await.unwrap(), None);
    assert!(lab.inside("b").join("spikes/0001/trace.dat").exists());
    store.pin(&digest, "mine").await.unwrap();
    assert_eq!(store.pins(&digest).await.unwrap().len(), 1);
    assert_eq!(store.unpin(&digest, "mine").await.unwrap(), Some(true));
    assert!(store.prune(&list[0]).await.unwrap().is_some());
    assert_eq!(store.pin(&digest, "too late").await.unwrap(), Some(false));
}

pub async fn removing_that_was_interrupted_is_completed(lab: Lab) {
    let store = lab.open().await;
    for (name, day) in [("a", 0), ("b", 1)] {
        add(&lab, &store, name, &SyntheticRun::of("pi", "6.1.0", day * DAY_NS)).await;
    }
    let (list, _) = store.prunable(RULES).await.unwrap();
    store.prune(&list[0]).await.unwrap().unwrap();
    // As a crash leaves it: the list is there, and one file still is.
    fs::write(lab.inside("b").join("samples/0.bin"), "x".repeat(1000)).unwrap();
    let again = store.prune(&list[0]).await.unwrap().unwrap();
    assert_eq!(again.files, 1);
    assert_eq!(store.ingest(&lab.inside("b")).await.unwrap().digest, list[0].digest);
    // A file that the archive never had makes it another archive.
    fs::write(lab.inside("b").join("samples/0.bin"), "other").unwrap();
    assert_eq!(store.prune(&list[0]).await.unwrap(), None);
    assert!(lab.inside("b").join("samples/0.bin").exists());
}
