//! The backup of docs/how-to/lab.md is enough to start again elsewhere.

use crate::promises::Lab;
use std::time::Duration;
use store::Store;
use store::queue::JobRequest;
use synthetic_run::SyntheticRun;

fn job() -> JobRequest {
    JobRequest {
        board: "pi".into(),
        plan_name: "smoke".into(),
        plan: "[[step]]".into(),
        kernel: None,
        because: "test".into(),
        priority: 0,
        attempts_max: 3,
    }
}

pub async fn a_backup_restores_what_only_the_index_has(lab: Lab) {
    let store = lab.open().await;
    let first = lab.add(&store, "first", &SyntheticRun::of("pi", "6.1.0", 1)).await;
    store.pin(&first.digest, "INC-1").await.unwrap();
    let queued = store.queue(&job(), 1).await.unwrap();
    // Others write all the while.
    let writer = store.clone();
    let writing = tokio::spawn(async move {
        for _ in 0..20 {
            writer.queue(&job(), 1).await.unwrap();
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    let elsewhere = lab.backup().await;
    writing.await.unwrap();
    let restored = Store::open(&elsewhere).await.unwrap();
    let jobs = restored.jobs(100).await.unwrap();
    assert!(jobs.iter().any(|job| job.job == queued.job), "{jobs:?}");
    assert_eq!(restored.pins(&first.digest).await.unwrap()[0].reason, "INC-1");
    assert_eq!(restored.runs(None, 10).await.unwrap().len(), 1);
    let findings = restored.health(&[], "").await.unwrap().findings;
    assert!(
        findings.iter().all(|found| !["index-damaged", "sums-wrong"].contains(&found.finding.as_str())),
        "{findings:?}"
    );
}
