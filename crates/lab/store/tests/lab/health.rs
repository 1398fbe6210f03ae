//! Defects of a store are found, with whatever database.

use crate::promises::Lab;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;
use store::Store;
use store::queue::JobRequest;
use synthetic_run::SyntheticRun;

/// The options of a command that uses the index of a test.
const INDEX: &str = " --store lab";

async fn findings(store: &Store, archives: &[PathBuf]) -> Vec<String> {
    let health = store.health(archives, INDEX).await.unwrap();
    for fix in health.findings.iter().map(|finding| &finding.fix) {
        assert_eq!(fix.matches("`tardy lab").count(), fix.matches(INDEX).count(), "{fix}");
    }
    assert!(health.findings.iter().all(|finding| !finding.fix.is_empty() && !finding.detail.is_empty()));
    health.findings.into_iter().map(|finding| finding.finding).collect()
}

pub async fn a_lab_in_order_has_no_findings(lab: Lab) {
    let store = lab.open().await;
    let archives = vec![lab.inside("one"), lab.inside("two")];
    lab.add(&store, "one", &SyntheticRun::of("pi", "6.1.0", 1)).await;
    lab.add(&store, "two", &SyntheticRun::of("pi", "6.1.0", 2)).await;
    let health = store.health(&archives, INDEX).await.unwrap();
    assert_eq!((health.runs, health.archives, health.findings), (2, 2, vec![]));
    assert!(
        health.free_bytes > 0 && (health.database.starts_with("SQLite 3") || health.database.starts_with("PostgreSQL"))
    );
}

pub async fn archives_that_are_gone_or_unknown_are_found_and_a_rebuild_is_the_fix(lab: Lab) {
    let store = lab.open().await;
    lab.add(&store, "gone", &SyntheticRun::of("pi", "6.1.0", 1)).await;
    fs::remove_dir_all(lab.inside("gone")).unwrap();
    SyntheticRun::of("pi", "6.1.0", 2).write(&lab.inside("new"));
    fs::write(lab.inside("tokens"), "").unwrap();
    fs::set_permissions(lab.inside("tokens"), fs::Permissions::from_mode(0o644)).unwrap();
    let archives = vec![lab.inside("new")];
    assert_eq!(findings(&store, &archives).await, ["tokens-readable", "archives-missing", "archives-unknown"]);
    fs::set_permissions(lab.inside("tokens"), fs::Permissions::from_mode(0o600)).unwrap();
    store.rebuild(archives.clone(), &mut |_| {}).await.unwrap();
    assert_eq!(findings(&store, &archives).await, [""; 0]);
}

pub async fn sums_that_are_not_those_of_the_runs_are_found(lab: Lab) {
    let store = lab.open().await;
    lab.add(&store, "one", &SyntheticRun::of("pi", "6.1.0", 1)).await;
    let archives = vec![lab.inside("one")];
    lab.execute("UPDATE coverage SET samples = samples + 1").await;
    assert_eq!(findings(&store, &archives).await, ["sums-wrong"]);
    store.rebuild(archives.clone(), &mut |_| {}).await.unwrap();
    assert_eq!(findings(&store, &archives).await, [""; 0]);
    lab.execute("DELETE FROM coverage").await;
    assert_eq!(findings(&store, &archives).await, ["sums-wrong"]);
}

pub async fn jobs_that_nothing_runs_and_workers_that_are_gone_are_found(lab: Lab) {
    const HOUR_NS: i64 = 3600 * 1_000_000_000;
    let store = lab.open().await;
    let now = store.now_unix_ns().await.unwrap();
    let request = |board: &str| JobRequest {
        board: board.into(),
        plan_name: "nightly".into(),
        plan: "plan".into(),
        kernel: None,
        because: "test".into(),
        priority: 0,
        attempts_max: 1,
    };
    store.queue(&request("pi"), now - HOUR_NS).await.unwrap();
    store.queue(&request("amd"), now - HOUR_NS).await.unwrap();
    store.heartbeat("there", &["amd".to_owned()], "0", now).await.unwrap();
    assert_eq!(findings(&store, &[]).await, ["board-without-worker"]);
    store.heartbeat("gone", &["pi".to_owned()], "0", now - HOUR_NS).await.unwrap();
    assert_eq!(findings(&store, &[]).await, ["worker-silent", "board-without-worker"]);
    let boards = ["pi".to_owned()];
    store.claim("gone", &boards, Duration::from_secs(60), now - HOUR_NS).await.unwrap().unwrap();
    assert_eq!(findings(&store, &[]).await, ["worker-silent", "lease-ended"]);
    store.expire(now).await.unwrap();
    store.worker_ended("gone", now).await.unwrap();
    assert_eq!(findings(&store, &[]).await, [""; 0]);
    store.heartbeat("killed long ago", &[], "0", now - 8 * 24 * HOUR_NS).await.unwrap();
    store.worker_ended("another", now).await.unwrap();
    assert_eq!(store.workers().await.unwrap().len(), 1, "what was silent for a week is forgotten");
}
