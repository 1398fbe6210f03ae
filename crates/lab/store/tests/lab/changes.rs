//! Changes that are found in a year of runs, whatever database it uses.

use crate::promises::Lab;
use std::time::Duration;
use store::Store;
use store::alerts::{Attempt, Due, Receiver};
use store::changes::{Change, Triage};
use synthetic_run::SyntheticRun;

const DAY_NS: i64 = 86_400_000_000_000;
const LEASE: Duration = Duration::from_secs(60);

/// Values that scatter, from a fixed sequence: the same on both databases.
struct Scatter(u64);

impl Scatter {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A run of 6000 samples around a level, with a share of them in a second mode: p99 resolves.
    fn run(&mut self, board: &str, kernel: &str, day: i64, level_ns: f64, second_mode: f64) -> SyntheticRun {
        // Machines differ a little from day to day.
        let level_ns = level_ns * (0.97 + 0.06 * self.unit());
        let latencies = (0..6000)
            .map(|_| {
                let ns = level_ns * (0.8 + 0.4 * self.unit());
                (if self.unit() < second_mode { 4.0 * ns } else { ns }) as i64
            })
            .collect();
        SyntheticRun { latencies, ..SyntheticRun::of(board, kernel, day * DAY_NS) }
    }
}

/// Looks for changes repeatedly, as a lab does while runs are added.
async fn year(
    lab: &Lab,
    store: &Store,
    board: &str,
    run_of: impl Fn(&mut Scatter, i64) -> SyntheticRun,
    seed: u64,
) -> Vec<Change> {
    let mut scatter = Scatter(seed);
    let mut found = Vec::new();
    for day in 0..120 {
        lab.add(store, &format!("{board}-{day}"), &run_of(&mut scatter, day)).await;
        if day % 30 == 29 {
            let scenario = store.scenarios(board).await.unwrap().remove(0).scenario;
            store.find_changes(&scenario, day * DAY_NS).await.unwrap();
            found = store.changes(Some(&scenario)).await.unwrap();
        }
    }
    found
}

/// Kernel of the first run after each change of a figure.
async fn kernels(store: &Store, changes: &[Change], figure: &str) -> Vec<String> {
    let mut kernels = Vec::new();
    for change in changes.iter().filter(|change| change.figure == figure) {
        kernels.push(store.run(&change.after_digest).await.unwrap().unwrap().run.kernel);
    }
    kernels
}

fn kernel(day: i64) -> String {
    format!("6.1.{}", day / 10)
}

pub async fn a_step_a_second_mode_and_a_drift_are_found_with_their_kernels(lab: Lab) {
    let store = lab.open().await;
    let step = |scatter: &mut Scatter, day: i64| {
        let level = if day < 60 { 20_000.0 } else { 26_000.0 };
        scatter.run("step", &kernel(day), day, level, 0.0)
    };
    let found = year(&lab, &store, "step", step, 1).await;
    let near = |names: &[String], wanted: &str| names.iter().filter(|name| *name == wanted).count() == 1;
    assert!(near(&kernels(&store, &found, "p50").await, "6.1.6"), "{found:#?}");
    assert!(found[0].differences.iter().any(|difference| difference.b.as_deref() == Some("6.1.6")), "{found:#?}");
    // Half of the samples of a second mode are beyond p99, none beyond the median.
    let mode = |scatter: &mut Scatter, day: i64| {
        scatter.run("mode", &kernel(day), day, 20_000.0, if day < 80 { 0.0 } else { 0.05 })
    };
    let found = year(&lab, &store, "mode", mode, 2).await;
    let quantile: Vec<&Change> = found.iter().filter(|change| change.figure != "p50").collect();
    assert_eq!(quantile.len(), 1, "{found:#?}");
    assert_eq!(kernels(&store, &found, &quantile[0].figure).await, ["6.1.8"]);
    let drift = |scatter: &mut Scatter, day: i64| {
        let level = 20_000.0 * (1.0 + 0.5 * (day - 40).clamp(0, 60) as f64 / 60.0);
        scatter.run("drift", &kernel(day), day, level, 0.0)
    };
    let found = year(&lab, &store, "drift", drift, 3).await;
    assert!(
        found.iter().any(|change| change.figure == "p50" && change.level_after > change.level_before),
        "{found:#?}"
    );
    let of_median: Vec<&Change> = found.iter().filter(|change| change.figure == "p50").collect();
    assert_eq!((of_median.len(), of_median[0].until_digest.is_some()), (1, true), "one drift: {found:#?}");
    assert!(of_median[0].sentence.starts_with("p50 drifted from "), "{}", of_median[0].sentence);
    let reached = store.run(of_median[0].reached()).await.unwrap().unwrap().run.kernel;
    assert!(["6.1.9", "6.1.10", "6.1.11"].contains(&&*reached), "{reached}");
    for kernel in kernels(&store, &found, "p50").await {
        let number: i64 = kernel.trim_start_matches("6.1.").parse().unwrap();
        assert!((3..=10).contains(&number), "{kernel}");
    }
}

pub async fn scatter_is_no_change(lab: Lab) {
    let store = lab.open().await;
    let steady = |scatter: &mut Scatter, day: i64| scatter.run("steady", &kernel(day), day, 20_000.0, 0.0);
    let found = year(&lab, &store, "steady", steady, 4).await;
    assert_eq!(found, []);
}

pub async fn a_change_keeps_its_triage_and_is_reported_once(lab: Lab) {
    let store = lab.open().await;
    let mut scatter = Scatter(5);
    for day in 0..40 {
        let level = if day < 20 { 20_000.0 } else { 40_000.0 };
        lab.add(&store, &format!("a{day}"), &scatter.run("pi", &kernel(day), day, level, 0.0)).await;
    }
    let scenario = store.scenario_keys().await.unwrap().remove(0);
    store.find_changes(&scenario, 1).await.unwrap();
    let found = store.changes(Some(&scenario)).await.unwrap();
    assert!(!found.is_empty());
    assert!(store.triage(&found[0].change, Triage::Known, "alice\n<b>").await.unwrap());
    assert!(!store.triage("no such change", Triage::Known, "alice").await.unwrap());
    let (changed, board) = store.change(&found[0].change).await.unwrap().unwrap();
    assert_eq!((changed.triage, board.is_empty(), store.change("none").await.unwrap()), (Triage::Known, false, None));
    store.record_action("robot", "upload", "digest", "pi").await.unwrap();
    let log = store.actions(10).await.unwrap();
    let entry = |at: usize| (log[at].who.as_str(), log[at].what.as_str(), log[at].detail.as_str());
    assert_eq!(
        (entry(0), log[1].what.as_str(), log[1].detail.as_str()),
        (("robot", "upload", "pi"), "triage", "known")
    );
    assert_eq!(
        (log.len(), log[1].subject.as_str()),
        (2, found[0].change.as_str()),
        "what changed nothing is not in the log"
    );
    assert!(!log[1].who.contains('\n') && log[1].who.starts_with("alice"), "{:?}", log[1].who);
    assert_eq!(store.queue_alerts("unknown", &|_| true, 2).await.unwrap(), 0, "a destination is made known first");
    store.add_destination("hook", 1).await.unwrap();
    store.add_destination("late", 2).await.unwrap();
    let wanted = |report: &store::changes::ChangeReport| report.first.kernel == "6.1.2";
    let queued = store.queue_alerts("hook", &wanted, 2).await.unwrap();
    assert_eq!(queued as usize, found.len() - 1, "what is known is not reported");
    assert_eq!(store.queue_alerts("hook", &wanted, 2).await.unwrap(), 0, "once");
    assert_eq!(store.queue_alerts("late", &wanted, 2).await.unwrap(), 0, "it was found before");
    assert_eq!(store.queue_alerts("hook", &|_| false, 2).await.unwrap(), 0);
    let hook = [Receiver { destination: "hook", takes_several: true }];
    let claim = |now: i64| store.claim_alert(&hook, Due::InTime, LEASE, now);
    let first = claim(3).await.unwrap().unwrap();
    assert_eq!(first.also, [], "the change of the other figure is known");
    assert!(first.report.words.starts_with("pi, ") && first.report.last_before.as_ref().unwrap().kernel == "6.1.1");
    let failed = Attempt::Failed { because: "no answer".into(), pause: None };
    assert!(store.end_alert(&first, &failed, 4).await.unwrap());
    assert!(!store.end_alert(&first, &failed, 4).await.unwrap(), "it ended");
    let minute = LEASE.as_nanos() as i64;
    let (mut sent, mut messages) = (0, 0);
    while let Some(claim) = claim(5 + minute).await.unwrap() {
        assert!(store.end_alert(&claim, &Attempt::Sent("there".into()), 6 + minute).await.unwrap());
        sent += 1 + claim.also.len() as u64;
        messages += 1;
    }
    assert_eq!((sent, messages), (queued, 1));
    let reported = store.changes(Some(&scenario)).await.unwrap();
    assert_eq!(reported.iter().filter(|change| change.reported_unix_ns.is_some()).count() as u64, queued);
    // New runs move nothing and add nothing.
    for day in 40..50 {
        lab.add(&store, &format!("a{day}"), &scatter.run("pi", &kernel(day), day, 40_000.0, 0.0)).await;
    }
    store.find_changes(&scenario, 6).await.unwrap();
    let again = store.changes(Some(&scenario)).await.unwrap();
    let names = |changes: &[Change]| {
        let mut names: Vec<(String, Triage)> = changes.iter().map(|one| (one.change.clone(), one.triage)).collect();
        names.sort_by(|a, b| a.0.cmp(&b.0));
        names
    };
    let mut before = found;
    before[0].triage = Triage::Known;
    assert_eq!(names(&again), names(&before));
}
