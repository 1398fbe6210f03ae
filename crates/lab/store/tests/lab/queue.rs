//! Promises of the queue, whatever database it uses.

use crate::promises::Lab;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use store::Store;
use store::queue::{Claim, Ended, JobRequest, JobState};
use synthetic_run::SyntheticRun;

const LEASE: Duration = Duration::from_secs(60);
const LEASE_NS: i64 = 60_000_000_000;

fn request(board: &str, priority: i64) -> JobRequest {
    JobRequest {
        board: board.into(),
        plan_name: "nightly".into(),
        plan: "plan".into(),
        kernel: None,
        because: "command line".into(),
        priority,
        attempts_max: 3,
    }
}

fn done(runs: &[&str]) -> Ended {
    Ended::Done { runs: runs.iter().map(|run| (*run).to_owned()).collect(), message: "PASS".into() }
}

fn boards(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A running job has a lease, another one has none, and no board runs two.
async fn audit(store: &Store) {
    let mut running = BTreeSet::new();
    for job in store.jobs(1000).await.unwrap() {
        assert_eq!(job.state == JobState::Running, job.lease_until_unix_ns.is_some(), "{job:?}");
        assert!(job.attempts <= job.attempts_max, "{job:?}");
        assert!(job.state != JobState::Running || running.insert(job.board.clone()), "two jobs run on {}", job.board);
    }
}

pub async fn a_board_runs_one_job_at_a_time_the_most_urgent_first(lab: Lab) {
    let store = lab.open().await;
    let first = store.queue(&request("pi", 0), 1).await.unwrap();
    let urgent = store.queue(&request("pi", 5), 2).await.unwrap();
    let other = store.queue(&request("amd", 0), 3).await.unwrap();
    let claim = store.claim("a", &boards(&["pi"]), LEASE, 10).await.unwrap().unwrap();
    assert_eq!((&claim.job.job, claim.job.attempts), (&urgent.job, 1));
    assert_eq!(store.claim("b", &boards(&["pi"]), LEASE, 11).await.unwrap(), None);
    let elsewhere = store.claim("b", &boards(&["pi", "amd"]), LEASE, 12).await.unwrap().unwrap();
    assert_eq!(elsewhere.job.job, other.job);
    assert!(store.end(&claim, &done(&["digest"]), 20).await.unwrap());
    assert!(!store.end(&claim, &done(&[]), 21).await.unwrap(), "it was ended");
    let ended = store.job(&urgent.job).await.unwrap().unwrap();
    assert_eq!((ended.state, ended.runs, ended.message.as_str()), (JobState::Done, vec!["digest".to_owned()], "PASS"));
    let next = store.claim("b", &boards(&["pi"]), LEASE, 22).await.unwrap().unwrap();
    assert_eq!(next.job.job, first.job);
    audit(&store).await;
}

pub async fn a_lease_that_ran_out_frees_its_job_and_binds_nobody(lab: Lab) {
    let store = lab.open().await;
    let job = store.queue(&request("pi", 0), 0).await.unwrap();
    let mut claim = store.claim("a", &boards(&["pi"]), LEASE, 0).await.unwrap().unwrap();
    assert!(store.renew(&mut claim, LEASE, LEASE_NS / 2).await.unwrap());
    assert_eq!(claim.until_unix_ns, LEASE_NS / 2 + LEASE_NS);
    assert_eq!(store.expire(LEASE_NS).await.unwrap(), 0, "it was renewed");
    let running = store.job(&job.job).await.unwrap().unwrap();
    assert!(!running.is_overdue(claim.until_unix_ns - 1) && running.is_overdue(claim.until_unix_ns));
    assert!(!store.renew(&mut claim, LEASE, 2 * LEASE_NS).await.unwrap(), "too late, although nobody took it");
    let second = store.claim("b", &boards(&["pi"]), LEASE, 2 * LEASE_NS).await.unwrap().unwrap();
    assert_eq!((&second.job.job, second.job.attempts), (&job.job, 2));
    assert!(!store.end(&claim, &done(&["of a"]), 2 * LEASE_NS).await.unwrap());
    assert!(!store.renew(&mut claim, LEASE, 2 * LEASE_NS).await.unwrap());
    // Its third attempt is the last.
    assert!(store.end(&second, &Ended::Failed { message: "no board".into() }, 3 * LEASE_NS).await.unwrap());
    assert_eq!(store.job(&job.job).await.unwrap().unwrap().state, JobState::Queued);
    store.claim("c", &boards(&["pi"]), LEASE, 3 * LEASE_NS).await.unwrap().unwrap();
    assert_eq!(store.expire(9 * LEASE_NS).await.unwrap(), 1);
    let given_up = store.job(&job.job).await.unwrap().unwrap();
    assert_eq!((given_up.state, given_up.attempts, given_up.runs.len()), (JobState::Failed, 3, 0));
    audit(&store).await;
}

pub async fn many_workers_share_the_jobs_of_few_boards(lab: Lab) {
    let (first, second) = (lab.open().await, lab.open().await);
    let names = ["a", "b", "c"];
    for number in 0..24 {
        first.queue(&request(names[number % 3], 0), number as i64).await.unwrap();
    }
    let worker = |store: Store, name: String| async move {
        let mut ended = Vec::new();
        let mut idle = 0;
        // Another worker may have the board just now.
        while idle < 200 {
            let Some(claim) = store.claim(&name, &boards(&names), LEASE, 100).await.unwrap() else {
                idle += 1;
                tokio::time::sleep(Duration::from_millis(2)).await;
                continue;
            };
            idle = 0;
            tokio::task::yield_now().await;
            assert!(store.end(&claim, &done(&[]), 101).await.unwrap());
            ended.push(claim.job.job);
        }
        ended
    };
    let tasks: Vec<_> = (0..6)
        .map(|number| {
            let store = if number % 2 == 0 { first.clone() } else { second.clone() };
            tokio::spawn(worker(store, format!("worker {number}")))
        })
        .collect();
    let mut ended = Vec::new();
    for task in tasks {
        ended.extend(task.await.unwrap());
    }
    let different: BTreeSet<&String> = ended.iter().collect();
    assert_eq!((ended.len(), different.len()), (24, 24));
    assert!(first.jobs(100).await.unwrap().iter().all(|job| job.state == JobState::Done && job.attempts == 1));
}

/// Claims, renewals, ends and expiries in any order leave each job owned at most once.
pub async fn any_order_of_claims_and_expiries_leaves_each_job_one_owner(lab: Lab) {
    let store = lab.open().await;
    // A fixed sequence of a linear congruential generator: the same on both databases.
    let mut state = 20_u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let names = boards(&["a", "b"]);
    let (mut now, mut held): (i64, Vec<Claim>) = (0, Vec::new());
    // The lease that may end a job.
    let mut owner: BTreeMap<String, String> = BTreeMap::new();
    let mut finished = BTreeSet::new();
    for _ in 0..150 {
        now += draw(30) as i64 * 1_000_000_000;
        match draw(6) {
            0 => drop(store.queue(&request(&names[draw(2) as usize], draw(3) as i64), now).await.unwrap()),
            1 | 2 => {
                if let Some(claim) = store.claim("w", &names, LEASE, now).await.unwrap() {
                    assert!(!finished.contains(&claim.job.job));
                    owner.insert(claim.job.job.clone(), claim.lease.clone());
                    held.push(claim);
                }
            }
            3 => {
                let count = held.len() as u64;
                if let Some(claim) = held.get_mut(draw(count.max(1)) as usize) {
                    let in_time = claim.until_unix_ns > now && owner[&claim.job.job] == claim.lease;
                    let renewed = store.renew(claim, LEASE, now).await.unwrap();
                    assert!(!renewed || in_time);
                }
            }
            4 if !held.is_empty() => {
                let claim = held.remove(draw(held.len() as u64) as usize);
                if store.end(&claim, &done(&[]), now).await.unwrap() {
                    assert_eq!(owner[&claim.job.job], claim.lease);
                    assert!(finished.insert(claim.job.job), "it ended twice");
                }
            }
            _ => drop(store.expire(now).await.unwrap()),
        }
        audit(&store).await;
    }
    assert!(finished.len() > 5, "{finished:?}");
}

pub async fn a_queued_job_is_cancelled_and_a_running_one_is_not(lab: Lab) {
    let store = lab.open().await;
    let job = store.queue(&request("pi", 0), 0).await.unwrap();
    assert!(store.cancel(&job.job, "me", 1).await.unwrap() && !store.cancel(&job.job, "me", 2).await.unwrap());
    assert_eq!(store.claim("a", &boards(&["pi"]), LEASE, 3).await.unwrap(), None);
    let job = store.queue(&request("pi", 0), 4).await.unwrap();
    store.claim("a", &boards(&["pi"]), LEASE, 5).await.unwrap().unwrap();
    assert!(!store.cancel(&job.job, "me", 6).await.unwrap());
    assert!(store.job("no such job").await.unwrap().is_none());
}

pub async fn workers_are_listed_with_their_last_report(lab: Lab) {
    let store = lab.open().await;
    store.heartbeat("w", &boards(&["pi"]), "0.1.0", 5).await.unwrap();
    store.heartbeat("w", &boards(&["pi", "amd"]), "0.1.1", 9).await.unwrap();
    let workers = store.workers().await.unwrap();
    assert_eq!((workers.len(), workers[0].started_unix_ns, workers[0].heartbeat_unix_ns), (1, 5, 9));
    assert_eq!((workers[0].boards.clone(), workers[0].version.as_str()), (boards(&["pi", "amd"]), "0.1.1"));
    assert!(store.now_unix_ns().await.unwrap() > 1_700_000_000_000_000_000);
}

pub async fn kernels_between_good_and_bad_are_suspects(lab: Lab) {
    let store = lab.open().await;
    for (number, kernel) in ["6.1.2", "6.1.7"].into_iter().enumerate() {
        let spikes = if number == 1 { vec![(250_000, None)] } else { Vec::new() };
        let run = SyntheticRun { limit_ns: Some(100_000), spikes, ..SyntheticRun::of("pi", kernel, number as i64) };
        lab.add(&store, kernel, &run).await;
    }
    let scenario = store.scenarios("pi").await.unwrap().remove(0).scenario;
    let candidates: Vec<String> = (0..10).map(|patch| format!("6.1.{patch}")).collect();
    let suspects = store.suspects(&scenario, &candidates).await.unwrap().unwrap();
    assert_eq!(suspects.kernels, ["6.1.3", "6.1.4", "6.1.5", "6.1.6"]);
    assert_eq!((suspects.last_good.kernel.as_str(), suspects.first_bad.kernel.as_str()), ("6.1.2", "6.1.7"));
    assert!(store.suspects("no such scenario", &candidates).await.unwrap().is_none());
    lab.add(&store, "good", &SyntheticRun { limit_ns: Some(100_000), ..SyntheticRun::of("pi", "6.1.8", 9) }).await;
    assert!(store.suspects(&scenario, &candidates).await.unwrap().is_none(), "it is good again");
}
